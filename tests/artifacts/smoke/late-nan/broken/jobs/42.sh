#!/bin/bash
#SBATCH --job-name=volatility
#SBATCH --output=logs/slurm-%j.out
#SBATCH --cpus-per-task=1
#SBATCH --time=00:30:00
set -euo pipefail

python -u train.py --data data/sensor.csv --out outputs/42 --steps 400
