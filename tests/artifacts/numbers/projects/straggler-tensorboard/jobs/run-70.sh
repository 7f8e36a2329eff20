#!/usr/bin/env bash
set -uo pipefail
cd /workspace/proj
torchrun --standalone --nproc-per-node 2 --log-dir outputs/run-70 -r 3 train.py --config configs/run-70.yaml
