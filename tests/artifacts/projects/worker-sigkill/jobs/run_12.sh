#!/usr/bin/env bash
set -uo pipefail
cd /workspace/proj
python train.py
exit_code=$?
echo "exit code $exit_code"
exit $exit_code
