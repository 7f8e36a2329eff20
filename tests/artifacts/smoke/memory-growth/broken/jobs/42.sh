#!/bin/bash
#SBATCH --job-name=ppg
#SBATCH --output=logs/slurm-%j.out
#SBATCH --cpus-per-task=1
#SBATCH --mem=1G
set -euo pipefail

python train.py --config configs/ppg.yaml --output outputs/42
