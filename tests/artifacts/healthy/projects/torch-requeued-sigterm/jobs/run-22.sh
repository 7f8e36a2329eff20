#!/usr/bin/env bash
set -uo pipefail
cd /workspace/proj
python train.py --exit-code 143
code=$?
echo "exit code $code"
exit $code
