#!/usr/bin/env bash
set -uo pipefail
cd /workspace/proj
python -m tensorboard.main --logdir runs --port 6006 > logs/tensorboard.txt 2>&1 &
BOARD=$!
sleep 900 &
WATCHDOG=$!
python train.py
kill -9 $WATCHDOG
kill $BOARD
wait
echo "job finished"

