#!/usr/bin/env bash
# Train on a SLURM cluster, one task per GPU:
#   GPUS=16 GPUS_PER_NODE=8 tools/slurm_train.sh PARTITION JOB_NAME CONFIG [options of tools/train.py]
# CPUS_PER_TASK (default 8) and SRUN_ARGS are passed on to srun.
set -euo pipefail

if [ $# -lt 3 ]; then
    sed -n 2,4p "$0" >&2
    exit 2
fi
partition=$1
job_name=$2
config=$3
shift 3
gpus=${GPUS:-8}
gpus_per_node=${GPUS_PER_NODE:-8}

# shellcheck disable=SC2086  (SRUN_ARGS is meant to be split)
exec srun --partition "$partition" \
    --job-name "$job_name" \
    --gres "gpu:$gpus_per_node" \
    --ntasks "$gpus" \
    --ntasks-per-node "$gpus_per_node" \
    --cpus-per-task "${CPUS_PER_TASK:-8}" \
    --kill-on-bad-exit 1 \
    ${SRUN_ARGS:-} \
    python -u "$(dirname "$0")/train.py" "$config" --launcher slurm "$@"
