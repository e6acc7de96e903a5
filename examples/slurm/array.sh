#!/bin/bash
# A run shared by the tasks of a job array: sbatch examples/slurm/array.sh rclicks -s graph -d demo --out runs/graph
# The arguments are those of `segarena run`; --out must be on a disk that all nodes share. docs/clusters.md says more.
#SBATCH --job-name=segarena
#SBATCH --array=0-7
#SBATCH --cpus-per-task=4
#SBATCH --time=12:00:00
#SBATCH --requeue
set -euo pipefail

# Tasks begin when there is room for them, join what is going on, and leave when all is done or their time is up.
exec segarena run "$@" --share --workers "${SLURM_CPUS_PER_TASK:-1}"
