"""The GPU day ends in time whatever dies or hangs, goes on where it stopped, and runs on a CPU as a whole."""

import json
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from tools.command import ENVIRONMENT, ROOT
from torch.autograd import DeviceType

from mixcl.recipes.prepared import prepared
from tools.benchmark import gpu_day
from tools.benchmark.gpu_day import Day

sys.path.append(str(ROOT / 'tools/benchmark'))  # as Python does for a script
import gpu_counts
from gpu_items import ITEMS
from gpu_profile import idle_share
from synthetic import SyntheticIteration, count_flops

sys.path.pop()  # for these imports alone

WORKER = """
import json, os, sys, time
device, out = sys.argv[1:]
for line in sys.stdin:
    part = line.strip()
    with open(f'{out}/figures.jsonl', 'a') as file:
        file.write(json.dumps(dict(part=part, figure='process', number=os.getpid())) + '\\n')
    if part == 'dies':
        os.abort()
    if part == 'hangs':
        time.sleep(60)
    print('failed: ValueError' if part == 'fails' else 'done', flush=True)
"""


@pytest.fixture
def parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """Replace the worker and the parts, which may take a second each."""
    (tmp_path / 'gpu_worker.py').write_text(WORKER)
    chosen = dict(good=1.0, dies=1.0, after=1.0, hangs=1.0, fails=1.0, costly=1000.0, small=1.0)
    for name, value in dict(HERE=tmp_path, PARTS=chosen, SLOWEST=dict(cpu=3)).items():
        monkeypatch.setattr(gpu_day, name, value)
    return chosen


def test_a_day_ends_in_time_whatever_dies_or_hangs(parts: dict[str, float], tmp_path: Path) -> None:
    day = Day(tmp_path, 'cpu', time.time() + 100)
    begun = time.time()
    became = {part: day.do(part) for part in parts}
    day.close()
    assert time.time() - begun < 30
    assert became == dict(
        good='done', dies='died with status -6', after='done', hangs='killed after 3 s', fails='failed: ValueError',
        costly='not begun: too little time', small='done',
    )  # fmt: skip
    processes = {line['part']: line['number'] for line in day.lines() if 'number' in line}
    assert processes['good'] == processes['dies'] and processes['fails'] == processes['small']  # one for many parts
    assert len(set(processes.values())) == 3


def test_the_same_command_goes_on_with_what_was_not_begun(parts: dict[str, float], tmp_path: Path) -> None:
    day = Day(tmp_path, 'cpu', time.time() + 100)
    for part in ('good', 'dies', 'costly'):
        day.do(part)
    day.close()
    with day.file.open('a') as file:
        file.write('{"part": "cut o')  # by a kill
    assert day.left() == ['after', 'hangs', 'fails', 'costly', 'small']
    assert day.left(['d', 'g']) == ['good', 'dies']


@pytest.mark.parametrize('name', ['simclr/vit-s16_in1k'])
def test_the_stored_counts_are_those_of_today(name: str) -> None:
    """After a change that makes a step cheaper, run tools/benchmark/gpu_counts.py."""
    stored = json.loads(gpu_counts.COUNTS.read_text())[name]
    flops, traffic = gpu_counts.count(name, stored['batch'])
    assert flops // stored['batch'] == stored['flops']
    assert traffic.operations.total() == pytest.approx(stored['operations'], rel=0.02)
    assert traffic.bytes.total() / stored['batch'] == pytest.approx(stored['bytes'], rel=0.02)


def test_flops_without_values_are_those_of_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    cfg = prepared('configs/mocov3/vit-s16_in1k.py', smoke=True)
    monkeypatch.setattr(gpu_counts, 'prepared', lambda path, **options: cfg)
    flops, _ = gpu_counts.count('mocov3/vit-s16_in1k', 8)
    assert flops == pytest.approx(count_flops(SyntheticIteration(cfg, 8).run), rel=0.01)


def test_traffic_counts_what_is_read_and_written() -> None:
    with gpu_counts.Traffic() as traffic:
        some = torch.ones(10, 4, device='meta')  # 160 bytes
        (some + some[:1]).T.contiguous() @ some.bfloat16()
    assert dict(traffic.bytes) == dict(ones=160, add=160 + 16 + 160, clone=320, _to_copy=160 + 80)
    assert traffic.operations['mm'] == 1 and 't' not in traffic.operations


def test_a_gpu_is_idle_while_no_kernel_runs() -> None:
    def event(start: float, end: float, annotation: bool = False) -> SimpleNamespace:
        return SimpleNamespace(
            time_range=SimpleNamespace(start=start, end=end), device_type=DeviceType.CUDA, is_user_annotation=annotation
        )

    assert idle_share([event(0, 4), event(2, 3), event(6, 8), event(7, 10), event(0, 10, True)]) == pytest.approx(0.2)


def test_every_part_has_its_item_and_every_step_its_counts() -> None:
    assert {part.partition(':')[0] for part in gpu_day.PARTS} == {*ITEMS, 'tests'}
    assert {*gpu_day.STEP_CONFIGS} == gpu_counts.CONFIGS.keys() == json.loads(gpu_counts.COUNTS.read_text()).keys()


@pytest.mark.long
def test_every_item_runs_on_a_cpu(tmp_path: Path) -> None:
    """Without the larger networks and tests/gpu, which ``make gpu-rehearsal`` has."""
    names = ['start', 'ceilings', 'right', 'steps:simclr', 'profile', 'end-to-end:8', 'compiled:simclr']
    command = [sys.executable, 'tools/benchmark/gpu_day.py', '--device', 'cpu', '--minutes', '14', '--out', tmp_path]
    environment = {name: value for name, value in ENVIRONMENT.items() if name != 'PYTHONPATH'}
    ran = subprocess.run([*command, '--only', *names], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, (ran.stdout, (tmp_path / 'worker.log').read_text()[-2000:])
    lines = [json.loads(line) for line in (tmp_path / 'figures.jsonl').read_text().splitlines()]
    assert {line['part'].partition(':')[0] for line in lines if line.get('became') == 'done'} == ITEMS.keys()
    assert len([*tmp_path.iterdir()]) <= 8
