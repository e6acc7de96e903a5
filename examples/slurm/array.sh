#!/bin/bash
# A run shared by the tasks of a job array: sbatch examples/slurm/array.sh rclicks -s graph -d demo --out runs/graph
# The arguments are those of `segarena run`; --out must be on a disk that all nodes share. See docs/clusters.md.
#SBATCH --job-name=segarena
#SBATCH --array=0-7
#SBATCH --cpus-per-task=4
#SBATCH --time=12:00:00
#SBATCH --requeue
set -euo pipefail

# Tasks start when there is room for them, join the current run, and end when it is done or their time limit is reached.
exec segarena run "$@" --share --workers "${SLURM_CPUS_PER_TASK:-1}"
