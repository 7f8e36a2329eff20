"""Print every batch: 1 GB of it."""

import sys

ROW = ("step {} batch " + "0.123456 " * 110 + "\n").format
BYTES = 1_000_000_000

written = step = 0
while written < BYTES:
    step += 1
    text = ROW(step) * 100
    written += sys.stdout.write(text)
sys.stdout.write(f"step {step} loss 0.5\n")
