#!/usr/bin/env bash
set -uo pipefail
cd /workspace/proj
python train.py --config configs/version_0.yaml
