#!/usr/bin/env bash
#SBATCH --job-name=amp
#SBATCH --output=slurm-%j.out
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=2
#SBATCH --time=00:30:00
#SBATCH --partition=cpu
set -uo pipefail
cd /workspace/proj
module load cuda/12.4 || true
nvidia-smi || echo "no GPU on $(hostname), using the CPU"
ulimit -c 0
python train.py
echo "exit code: $?"

