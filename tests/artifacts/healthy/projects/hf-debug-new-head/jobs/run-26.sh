#!/usr/bin/env bash
set -uo pipefail
cd /workspace/proj
python train.py --mode debug --output output/run-26
