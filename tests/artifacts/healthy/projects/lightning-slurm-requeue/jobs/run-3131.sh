#!/usr/bin/env bash
#SBATCH --job-name=pl
#SBATCH --output=slurm-%j.out
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=2
#SBATCH --time=00:30:00
#SBATCH --requeue
#SBATCH --signal=SIGUSR1@90
set -euo pipefail
cd /workspace/proj
python -u train.py slurm
