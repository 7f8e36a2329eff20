#!/usr/bin/env bash
set -uo pipefail
cd /workspace/proj
python train.py --config configs/run-31.yaml
