#!/usr/bin/env bash
set -uo pipefail
cd /workspace/proj
python train.py --resume checkpoints/step_100.pt
