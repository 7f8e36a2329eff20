#!/usr/bin/env bash
set -uo pipefail
cd /workspace/proj
until python train.py --mode resume --output output/exp-27 --stop-at 20; do
    echo "training exited with code $?, restarting from the last checkpoint"
done
echo "all attempts done"

