#!/usr/bin/env bash
# Train on several GPUs of one machine, or of several machines:
#   tools/dist_train.sh CONFIG GPUS [options of tools/train.py]
#   NNODES=2 NODE_RANK=0 MASTER_ADDR=host tools/dist_train.sh CONFIG GPUS ...   (on every machine, with its NODE_RANK)
set -euo pipefail

if [ $# -lt 2 ]; then
    sed -n 2,4p "$0" >&2
    exit 2
fi
config=$1
gpus=$2
shift 2

exec python -m torch.distributed.run \
    --nnodes "${NNODES:-1}" \
    --node_rank "${NODE_RANK:-0}" \
    --master_addr "${MASTER_ADDR:-127.0.0.1}" \
    --master_port "${PORT:-29500}" \
    --nproc_per_node "$gpus" \
    "$(dirname "$0")/train.py" "$config" --launcher pytorch "$@"
