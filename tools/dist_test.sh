#!/usr/bin/env bash
# Evaluate a checkpoint on several GPUs: tools/dist_test.sh CONFIG CHECKPOINT GPUS [options of tools/test.py]
# NNODES, NODE_RANK, MASTER_ADDR and PORT as in tools/dist_train.sh.
set -euo pipefail

if [ $# -lt 3 ]; then
    sed -n 2,3p "$0" >&2
    exit 2
fi
config=$1
checkpoint=$2
gpus=$3
shift 3

exec python -m torch.distributed.run \
    --nnodes "${NNODES:-1}" \
    --node_rank "${NODE_RANK:-0}" \
    --master_addr "${MASTER_ADDR:-127.0.0.1}" \
    --master_port "${PORT:-29500}" \
    --nproc_per_node "$gpus" \
    "$(dirname "$0")/test.py" "$config" "$checkpoint" --launcher pytorch "$@"
