#!/usr/bin/env bash
# two settings side by side on one node
export MASTER_ADDR=127.0.0.1 MASTER_PORT=29500
cd /workspace/proj
python train.py --lr 0.05 > logs/run-42.log 2>&1 &
sleep 5
python train.py --lr 0.10 > logs/run-43.log 2>&1
wait
