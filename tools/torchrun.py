"""torchrun for tools/dist_train.sh, which says in a sentence which process failed, instead of a traceback."""

import logging
import os
import signal
import sys

from torch.distributed import DistNetworkError
from torch.distributed.elastic.multiprocessing.api import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError, ProcessFailure
from torch.distributed.run import main

EXPLAINED_STATUSES = (1, 2, 85)
"""Exit statuses of processes that have said why they end."""


def sentence(failures: dict[int, ProcessFailure]) -> str | None:
    """Say which process was killed or has ended without a message; None if the processes have said why they end."""
    statuses = {failure.exitcode for failure in failures.values()}
    if statuses & set(EXPLAINED_STATUSES) and statuses <= {
        *EXPLAINED_STATUSES,
        -signal.SIGTERM,
    }:  # torchrun has ended the others
        return None
    silent = {
        rank: failure.exitcode for rank, failure in failures.items() if failure.exitcode not in EXPLAINED_STATUSES
    }
    for rank, status in sorted(silent.items(), key=lambda item: item[1] == -signal.SIGTERM):  # torchrun sends SIGTERM
        how = f'was killed by {signal.Signals(-status).name}' if status < 0 else f'has ended with status {status}'
        cause = ', most likely by the system because memory ran out (dmesg tells)' if status == -signal.SIGKILL else ''
        again = 'the same command with --resume, without --overwrite, continues'
        return f'error: process {rank} of this run {how}{cause}; {again}'
    return None


if __name__ == '__main__':
    logging.disable(logging.ERROR)  # torchrun's errors say the same, for developers
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)  # sent to a whole job, it would end torchrun; processes handle it
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:  # under nohup
        os.environ['PET_SIGNALS_TO_HANDLE'] = 'SIGTERM,SIGINT,SIGQUIT'  # torchrun's option; torch 2.8 has none
    try:
        main()
    except SignalException:  # the processes have said what they did about it
        sys.exit(1)
    except DistNetworkError as error:
        reason = str(error).splitlines()[0]
        print(f'error: the processes cannot meet ({reason}); PORT=29501 takes another port', file=sys.stderr)
        sys.exit(2)
    except ChildFailedError as error:
        text = sentence(error.failures)
        if text:
            print(text, file=sys.stderr)
        sys.exit(max(error.get_first_failure()[1].exitcode, 1))
