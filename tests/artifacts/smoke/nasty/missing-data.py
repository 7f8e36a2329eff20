"""The corpus is on another node.

usage: missing-data.py --data data/corpus.bin
"""

import sys
from pathlib import Path

corpus = Path(sys.argv[sys.argv.index("--data") + 1]).read_bytes()
for step in range(1, 6):
    print(f"step {step} loss {1 / step:.4f} of {len(corpus)} bytes")
