#!/usr/bin/env bash
set -uo pipefail
cd /workspace/proj
python -u train.py --config configs/run-4.yaml
