#!/usr/bin/env bash
#SBATCH --job-name=ddp-17
#SBATCH --output=slurm-%j.out
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=2
#SBATCH --time=00:30:00
#SBATCH --partition=cpu
set -euo pipefail
cd /workspace/proj
torchrun --standalone --nproc-per-node 2 --log-dir outputs/ddp-17 -r 3 -t 3 train.py
