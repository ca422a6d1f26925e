"""Training commands that batch systems or people stop, and start again."""

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest
import torch
from tools.command import ROOT, start, stop
from tools.in_process import run_here

from mixcl.weights import newest_checkpoint

DIGITS = 'configs/patchmix/vit-xs4_digits.py'
SMALL = (
    'train_dataloader.dataset.dataset.indices=256', 'batch=8', 'train_dataloader.num_workers=2',
    'model.backbone.arch.num_layers=1', 'default_hooks.logger.interval=1',
)  # fmt: skip
OPTIONS = ('--no-validate', '--cfg-options', *SMALL)
STEPS_PER_EPOCH = 32


def started_steps(work_dir: Path) -> int:
    """Return how many steps the newest run has logged."""
    logs = sorted(work_dir.glob('*/vis_data/scalars.json'))
    return len(logs[-1].read_text().splitlines()) if logs else 0


def wait_for_steps(process: subprocess.Popen, work_dir: Path) -> None:
    deadline = time.monotonic() + 90
    while started_steps(work_dir) < 3 and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)


def ended(process: subprocess.Popen) -> tuple[int, str]:
    try:
        output, errors = process.communicate(timeout=90)
    finally:
        stop(process)
    return process.returncode, output + errors


def saved_step(work_dir: Path) -> int:
    """Return the step of the newest checkpoint, which must lie within the first epoch."""
    path = Path(newest_checkpoint(work_dir))
    step = torch.load(path, weights_only=True)['meta']['iter']
    assert path.name == f'epoch_0_iter_{step}.pth' and 3 <= step < STEPS_PER_EPOCH
    return step


def assert_continues(work_dir: Path, step: int, last: int) -> None:
    output = max(work_dir.glob('*/*.log'), key=os.path.getmtime).read_text()
    assert f'resumed epoch: 0, iter: {step}' in output
    logged = [int(number) for number in re.findall(r'Epoch\(train\)\s+\[1\]\[\s*(\d+)/', output)]
    assert logged == list(range(step + 1, last + 1))


def test_sigterm_to_all_processes_of_a_run_with_workers(tmp_path: Path) -> None:
    process = start('tools/train.py', DIGITS, '--work-dir', tmp_path, *OPTIONS)
    wait_for_steps(process, tmp_path)
    process.send_signal(signal.SIGTERM)  # its data workers get it, too
    status, output = ended(process)
    assert status == 85, output[-3000:]
    step = saved_step(tmp_path)
    assert output.splitlines()[-1].startswith(f'stopped by SIGTERM after step {step} of ')
    assert '; the same command with --resume, without --overwrite, continues' in output.splitlines()[-1]
    assert 'Traceback' not in output
    options = (*SMALL, 'schedule.epochs=1')
    assert run_here('tools/train.py', DIGITS, '--work-dir', tmp_path, '--resume', '--no-validate', options=options) == 0
    assert_continues(tmp_path, step, STEPS_PER_EPOCH)


# A signal that comes just before a sleep is handled after it, so the sleeps are short.
WAIT = "print('waiting', flush=True); any(time.sleep(0.1) for _ in range(600))"
STAGES = dict(
    reading=f'import time; {WAIT}',
    formatting="custom_imports = dict(imports=['slow_format'])",
    # By then, the work dir is locked and has a log.
    building="custom_imports = dict(imports=['slow_hook'])\ncustom_hooks = [dict(type='mmengine.SlowHook')]",
)
MODULES = dict(
    # mmengine turns whatever is raised there into a SyntaxError.
    slow_format=f"""
import time
from yapf.yapflib import yapf_api
def format_code(*args, **kwargs):
    {WAIT}
yapf_api.FormatCode = format_code
""",
    slow_hook=f"""
import time
from mmengine.hooks import Hook
from mmengine.registry import HOOKS
@HOOKS.register_module()
class SlowHook(Hook):
    def __init__(self):
        {WAIT}
""",
)


@pytest.mark.parametrize('stage', STAGES)
@pytest.mark.parametrize(
    ('number', 'status', 'said'),
    [(signal.SIGTERM, 85, 'stopped by SIGTERM'), (signal.SIGINT, 130, 'interrupted')],
    ids=['SIGTERM', 'Ctrl-C'],
)
def test_a_signal_before_training(stage: str, number: signal.Signals, status: int, said: str, tmp_path: Path) -> None:
    (tmp_path / 'slow.py').write_text(f"{STAGES[stage]}\n_base_ = '{ROOT}/{DIGITS}'")
    for name, text in MODULES.items():
        (tmp_path / f'{name}.py').write_text(text)
    process = start('tools/train.py', tmp_path / 'slow.py', '--work-dir', tmp_path / 'run')
    while 'waiting' not in process.stdout.readline():
        assert process.poll() is None
    sent = time.monotonic()
    process.send_signal(number)
    ended_with, output = ended(process)
    assert ended_with == status and time.monotonic() - sent < 5, output[-3000:]  # milliseconds on an idle machine
    assert output.splitlines()[-1].startswith(f'{said}: the same command with --resume, without --overwrite')
    assert 'Traceback' not in output


FREEZE = """
import multiprocessing, os, signal
from mmengine.hooks import Hook
from mmengine.registry import HOOKS
@HOOKS.register_module()
class Freeze(Hook):
    def after_train_iter(self, runner, **kwargs):
        if runner.iter == 3:
            os.kill(multiprocessing.active_children()[0].pid, signal.SIGSTOP)
            os.kill(os.getpid(), signal.SIGTERM)
"""


def test_a_run_that_has_saved_ends_though_a_data_worker_is_frozen(tmp_path: Path) -> None:
    (tmp_path / 'freeze.py').write_text(FREEZE)
    (tmp_path / 'frozen.py').write_text(
        f"_base_ = '{ROOT}/{DIGITS}'\ncustom_imports = dict(imports=['freeze'])\n"
        "custom_hooks = [dict(type='mmengine.Freeze')]"
    )
    status, output = ended(start('tools/train.py', tmp_path / 'frozen.py', '--work-dir', tmp_path, *OPTIONS))
    assert status == 85 and saved_step(tmp_path) == 4, output[-3000:]


def pair(work_dir: Path, *options: object) -> subprocess.Popen:
    """Start two processes with sixteen steps per epoch."""
    both = [option.replace('batch=8', 'batch=16') for option in map(str, options)]
    return start('tools/dist_train.sh', DIGITS, 2, '--work-dir', work_dir, *both)


@pytest.mark.long
def test_two_processes_under_torchrun_agree(tmp_path: Path) -> None:
    status, output = ended(pair(tmp_path / 'undisturbed', *OPTIONS, 'schedule.epochs=1'))
    assert status == 0, output[-3000:]
    stopped = tmp_path / 'stopped'
    process = pair(stopped, *OPTIONS, 'schedule.epochs=1')
    wait_for_steps(process, stopped)
    process.send_signal(signal.SIGTERM)
    status, output = ended(process)
    assert status == 85, output[-3000:]
    step = saved_step(stopped)
    status, output = ended(pair(stopped, '--resume', *OPTIONS, 'schedule.epochs=1'))
    assert status == 0, output[-3000:]
    assert_continues(stopped, step, STEPS_PER_EPOCH // 2)
    ends = [torch.load(folder / 'epoch_1.pth', weights_only=True) for folder in (tmp_path / 'undisturbed', stopped)]
    torch.testing.assert_close(ends[0]['state_dict'], ends[1]['state_dict'], rtol=0, atol=0)


@pytest.mark.parametrize(
    ('status', 'job', 'requeued', 'resumed'),
    [
        (85, dict(SLURM_JOB_ID='17'), 'requeue 17\n', ''),
        (85, {}, '', ''),
        (0, dict(SLURM_JOB_ID='17', SLURM_RESTART_COUNT='1'), '', ' --resume'),
        (2, dict(SLURM_JOB_ID='17'), '', ''),
    ],
    ids=['stopped', 'stopped by hand', 'requeued', 'failed'],
)
def test_slurm_jobs(tmp_path: Path, status: int, job: dict, requeued: str, resumed: str) -> None:
    """Stand-ins for srun and scontrol only record their calls."""
    for name in ('srun', 'scontrol'):
        ending = f'exit {status}' if name == 'srun' else ''
        (tmp_path / f'{name}.calls').touch()
        (tmp_path / name).write_text(f'#!/bin/sh\necho "$@" >> "{tmp_path}/{name}.calls"\n{ending}\n')
        (tmp_path / name).chmod(0o755)
    command = ['bash', 'tools/slurm_train.sh', 'gpus', 'name', DIGITS, '--overwrite', '--max-time', '23h30m']
    variables = dict(PATH=f'{tmp_path}:{os.environ["PATH"]}', **job)
    assert subprocess.run(command, cwd=ROOT, env=variables, capture_output=True).returncode == status
    assert (tmp_path / 'scontrol.calls').read_text() == requeued
    (call,) = (tmp_path / 'srun.calls').read_text().splitlines()
    options = '--max-time 23h30m --resume' if resumed else '--overwrite --max-time 23h30m'
    assert call.endswith(f'tools/train.py {DIGITS} --launcher slurm {options}')
    assert '--kill-on-bad-exit=0 --wait 60' in call


def children(process: int) -> list[int]:
    return [int(word) for word in Path(f'/proc/{process}/task/{process}/children').read_text().split()]


def is_running(process: int) -> bool:
    """Whether a process exists and is not a zombie."""
    return Path(f'/proc/{process}/exe').exists()


@pytest.mark.skipif(not Path('/proc/self/task').exists(), reason='looks for processes in /proc')
def test_workers_do_not_outlive_a_run_that_is_killed(tmp_path: Path) -> None:
    program = "import os, runpy; print(os.getpid(), flush=True); runpy.run_path('tools/train.py', run_name='__main__')"
    process = start('-c', program, DIGITS, '--work-dir', tmp_path, *OPTIONS)
    try:
        run = int(process.stdout.readline())  # the run itself: killing its stand-in would kill its workers, too
        wait_for_steps(process, tmp_path)
        workers = children(run)
        assert len(workers) >= 2 and all(map(is_running, workers))
        os.kill(run, signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        deadline = time.monotonic() + 30  # 2 s on an idle machine; orphans would wait for ever
        while any(map(is_running, workers)) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert not any(map(is_running, workers))
    finally:
        stop(process)
