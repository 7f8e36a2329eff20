#!/usr/bin/env bash
#SBATCH --job-name=embed
#SBATCH --output=slurm-%j.out
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=2
#SBATCH --time=00:30:00
#SBATCH --requeue
set -euo pipefail
cd /workspace/proj
python train.py
