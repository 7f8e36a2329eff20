#!/usr/bin/env bash
set -uo pipefail
cd /workspace/proj
python train.py grpo output/grpo-36
