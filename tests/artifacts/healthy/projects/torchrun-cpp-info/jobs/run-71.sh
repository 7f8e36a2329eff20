#!/usr/bin/env bash
#SBATCH --job-name=ddp
#SBATCH --output=slurm-%j.out
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=2
#SBATCH --time=00:30:00
#SBATCH --partition=cpu
set -euo pipefail
cd /workspace/proj
torchrun --standalone --nproc-per-node 2  train.py --unused
