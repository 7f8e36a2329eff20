#!/usr/bin/env bash
set -uo pipefail
cd /workspace/proj
python train.py --mode metrics --output output/run_28
