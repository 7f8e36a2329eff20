#!/usr/bin/env bash
#SBATCH --job-name=mlp-cifar
#SBATCH --output=outputs/logs/mlp-cifar/slurm-%j.out
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=2
#SBATCH --time=00:30:00
#SBATCH --error=outputs/logs/mlp-cifar/slurm-%j.err
set -euo pipefail
cd /workspace/proj
echo "job $SLURM_JOB_ID on $(hostname)"
python train.py --config configs/mlp-cifar.yaml
