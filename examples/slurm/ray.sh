#!/bin/bash
# A run on a Ray cluster that lasts as long as the job: sbatch examples/slurm/ray.sh rclicks -s graph -d demo --out runs/graph
# The arguments are those of `segarena run`. With GPUs, add --gpus-per-worker 0.5 or so. See docs/clusters.md.
#SBATCH --job-name=segarena
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=8
#SBATCH --time=12:00:00
set -euo pipefail

# Without a token, anyone who can reach the cluster can run programs on it. This token is only for this job.
export RAY_AUTH_MODE=token RAY_USAGE_STATS_ENABLED=0
RAY_AUTH_TOKEN=$(python3 -c "import secrets; print(secrets.token_hex(32))")
export RAY_AUTH_TOKEN

mapfile -t nodes < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
first=${nodes[0]}
ip=$(srun --nodes=1 --ntasks=1 --nodelist="$first" hostname --all-ip-addresses | awk '{print $1}')
address=$ip:$((20000 + SLURM_JOB_ID % 20000))
node=(--num-cpus="$SLURM_CPUS_PER_TASK" ${SLURM_GPUS_ON_NODE:+--num-gpus="$SLURM_GPUS_ON_NODE"} --disable-usage-stats --block)
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT

srun --nodes=1 --ntasks=1 --nodelist="$first" \
    ray start --head --node-ip-address="$ip" --port="${address##*:}" --include-dashboard=false "${node[@]}" &
until ray status --address="$address" &>/dev/null; do sleep 1; done
if ((SLURM_JOB_NUM_NODES > 1)); then
    srun --nodes=$((SLURM_JOB_NUM_NODES - 1)) --ntasks=$((SLURM_JOB_NUM_NODES - 1)) --exclude="$first" \
        ray start --address="$address" "${node[@]}" &
fi

# The script runs on the first node. Workers wait until their node has joined; the others work meanwhile.
segarena run "$@" --executor ray --address "$address" --workers $((SLURM_JOB_NUM_NODES * SLURM_CPUS_PER_TASK))
