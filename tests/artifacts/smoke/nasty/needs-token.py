"""Log in to the hub before anything else."""

import os

token = os.environ["HF_TOKEN"]
print(f"logged in with a token of {len(token)} characters")
for step in range(1, 6):
    print(f"step {step} loss {1 / step:.4f}")
