"""Ask before the old run is overwritten."""

answer = input("outputs/42 exists. Overwrite? [y/N] ")
if answer.strip().lower() != "y":
    raise SystemExit("stopped")
for step in range(1, 6):
    print(f"step {step} loss {1 / step:.4f}")
