#!/usr/bin/env bash
set -uo pipefail
cd /workspace/proj
python train.py --nan-policy skip --oom-retry --kill-stale-workers
