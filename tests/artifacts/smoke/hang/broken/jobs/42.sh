#!/bin/bash
#SBATCH --job-name=prefetch
#SBATCH --output=logs/slurm-%j.out
#SBATCH --cpus-per-task=2
#SBATCH --time=00:30:00
set -euo pipefail

python train.py --run 42 --epochs 3
