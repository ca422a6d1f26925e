#!/usr/bin/env bash
# Train on a SLURM cluster, one task per GPU:
#   GPUS=16 GPUS_PER_NODE=8 tools/slurm_train.sh PARTITION JOB_NAME CONFIG [options of tools/train.py]
# CPUS_PER_TASK (default 8) and SRUN_ARGS are passed on to srun. As a batch job that survives preemption and time limits:
#   sbatch --requeue --open-mode=append --signal=USR1@120 --nodes 2 --ntasks-per-node 8 --gres gpu:8 --cpus-per-task 8 \
#       --partition PARTITION --wrap "GPUS=16 tools/slurm_train.sh PARTITION JOB_NAME CONFIG"
# A run that was stopped (by SIGTERM, SIGUSR1 or --max-time) saves its state and exits with 85. The job is then put
# back into the queue, and continues with --resume.
set -euo pipefail

if [ $# -lt 3 ]; then
    sed -n 2,8p "$0" >&2
    exit 2
fi
partition=$1
job_name=$2
config=$3
shift 3
gpus=${GPUS:-8}
gpus_per_node=${GPUS_PER_NODE:-8}
if [ "${SLURM_RESTART_COUNT:-0}" -gt 0 ]; then
    for word; do shift; [ "$word" = --overwrite ] || set -- "$@" "$word"; done
    set -- "$@" --resume
fi

# The first task to end must not kill others that are about to return 85; after a minute srun kills them.
status=0
# shellcheck disable=SC2086  (SRUN_ARGS is meant to be split)
srun --partition "$partition" \
    --job-name "$job_name" \
    --gres "gpu:$gpus_per_node" \
    --ntasks "$gpus" \
    --ntasks-per-node "$gpus_per_node" \
    --cpus-per-task "${CPUS_PER_TASK:-8}" \
    --kill-on-bad-exit=0 \
    --wait 60 \
    ${SRUN_ARGS:-} \
    python -u "$(dirname "$0")/train.py" "$config" --launcher slurm "$@" || status=$?

if [ "$status" -eq 85 ] && [ -n "${SLURM_JOB_ID:-}" ]; then
    scontrol requeue "$SLURM_JOB_ID"
fi
exit "$status"
