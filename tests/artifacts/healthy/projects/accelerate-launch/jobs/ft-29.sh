#!/usr/bin/env bash
set -uo pipefail
cd /workspace/proj
accelerate launch --cpu train.py
