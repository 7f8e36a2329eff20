#!/usr/bin/env bash
set -uo pipefail
cd /workspace/proj
python -u train.py
