#!/usr/bin/env bash
# Train on several GPUs of one machine, or of several machines:
#   tools/dist_train.sh CONFIG GPUS [options of tools/train.py]
#   NNODES=2 NODE_RANK=0 MASTER_ADDR=host tools/dist_train.sh CONFIG GPUS ...   (on every machine, with its NODE_RANK)
# SIGTERM, SIGINT, SIGUSR1 and SIGHUP save and end the run with status 85. The same command with --resume, without
# --overwrite, then continues it.
set -euo pipefail

if [ $# -lt 2 ]; then
    sed -n 2,6p "$0" >&2
    exit 2
fi
config=$1
gpus=$2
shift 2

# torchrun returns 1 whatever its processes return; when stopped, they write their status to this file.
MIXCL_STATUS_FILE=$(mktemp)
export MIXCL_STATUS_FILE
trap 'rm -f "$MIXCL_STATUS_FILE"' EXIT

python "$(dirname "$0")/torchrun.py" \
    --nnodes "${NNODES:-1}" \
    --node_rank "${NODE_RANK:-0}" \
    --master_addr "${MASTER_ADDR:-127.0.0.1}" \
    --master_port "${PORT:-29500}" \
    --nproc_per_node "$gpus" \
    "$(dirname "$0")/train.py" "$config" --launcher pytorch "$@" &
torchrun=$!
# torchrun passes SIGTERM on to the processes, and knows nothing of SIGUSR1.
trap 'kill -TERM "$torchrun" 2>/dev/null' TERM INT USR1 HUP

status=0
wait "$torchrun" || status=$?
while kill -0 "$torchrun" 2>/dev/null; do # a signal ends wait, not torchrun
    status=0
    wait "$torchrun" || status=$?
done
if [ -s "$MIXCL_STATUS_FILE" ]; then
    status=$(cat "$MIXCL_STATUS_FILE")
fi
exit "$status"
