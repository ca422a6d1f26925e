"""One of several processes of a test: ``one_of_several.py FOLDER RANK COUNT``; see :func:`pairs.run_processes`."""

import os
import pickle
import sys
from datetime import timedelta
from pathlib import Path

import torch

if __name__ == '__main__':
    folder, rank, count = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    sys.path.insert(0, str(Path(__file__).parents[1]))
    function = pickle.loads((folder / 'function.pkl').read_bytes())
    # A process that waits in vain for the other one shall fail.
    group = dict(init_method=f'file://{folder}/group', timeout=timedelta(seconds=60))
    torch.distributed.init_process_group('gloo', rank=rank, world_size=count, **group)
    torch.save(function(rank), folder / f'rank{rank}.pth')
    torch.distributed.barrier()
    os._exit(0)  # threads of gloo may abort an interpreter that ends by itself
