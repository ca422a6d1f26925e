"""The process that does the parts of gpu_day.py: ``gpu_worker.py DEVICE DIR``; each line of its input names a part."""

import time

BEGAN = time.time()

from mixcl.starting import begin

begin(__name__)

import json
import os
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from gpu_items import ITEMS, free_memory

from mixcl.engine.runners.data_workers import kill_workers


class Work:
    """What the items need.

    Attributes:
        device: 'cuda', or 'cpu' for a rehearsal.
        out: folder of the day.
        began: when the process began, by ``time.time()``.
    """

    def __init__(self, device: str, out: Path) -> None:
        self.device, self.out, self.began = device, out, BEGAN
        self._part = ''

    @property
    def on_gpu(self) -> bool:
        return self.device == 'cuda'

    def record(self, figure: str, **values: Any) -> None:
        """Write a figure of the current part."""
        with (self.out / 'figures.jsonl').open('a') as file:
            file.write(json.dumps(dict(part=self._part, figure=figure) | values) + '\n')

    def do(self, part: str) -> str:
        """Do a part, such as ``steps:CONFIG``; return 'done', what failed, or 'broken', after which a process ends."""
        self._part = part
        name, _, argument = part.partition(':')
        try:
            ITEMS[name](self, *[argument] * bool(argument))
            return 'done'
        except Exception as error:  # the day goes on
            traceback.print_exc()
            said = ' '.join(f'{type(error).__name__}: {error}'.split())[:300]
            return f'broken: {said}' if 'CUDA error' in said else f'failed: {said}'
        finally:
            kill_workers()
            with suppress(RuntimeError):  # if CUDA is broken
                free_memory(self.device)


def main() -> None:
    device, out = sys.argv[1:]
    answers = os.fdopen(os.dup(1), 'w')
    os.dup2(2, 1)  # whatever is printed goes to the log
    torch.set_float32_matmul_precision('high')  # TF32, as in runs, whatever was done before
    torch.backends.cudnn.benchmark = True
    work = Work(device, Path(out))
    for line in sys.stdin:
        print(work.do(line.strip()), file=answers, flush=True)


if __name__ == '__main__':
    main()
