#!/usr/bin/env bash
set -uo pipefail
cd /workspace/proj
torchrun --standalone --nproc-per-node 2 --log-dir outputs/ddp-72 -r 3 -t 3 train.py --env
