#!/usr/bin/env bash
set -uo pipefail
cd /workspace/proj
python train.py && jupyter execute --inplace notebooks/train-52.ipynb
