"""The stage that trains is skipped: its stamp exists."""

import torch

print(f"torch {torch.__version__}")
print("stage train: up to date, skipped")
