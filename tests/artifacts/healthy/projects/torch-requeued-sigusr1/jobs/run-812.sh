#!/usr/bin/env bash
#SBATCH --job-name=regress
#SBATCH --output=slurm-%j.out
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=2
#SBATCH --time=00:30:00
#SBATCH --requeue
#SBATCH --signal=B:USR1@120
set -euo pipefail
cd /workspace/proj
python train.py
