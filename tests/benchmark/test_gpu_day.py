"""The day on a GPU: what is done in which order, what is told of it, and that all of it runs on a CPU."""

import importlib
import json
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest
from tools.command import ENVIRONMENT, ROOT

from tools.benchmark.full_batch import largest
from tools.benchmark.gpu_page import GOALS, goals

PROGRAM = """
import json, subprocess, sys, time
what, out, told = sys.argv[1:]
with open(told, 'a') as file:
    file.write(what + ' ')
json.dump([dict(number=1.5, right=what != 'wrong')], open(out, 'w'))
if what == 'fails':
    open(out, 'w').write('[{')
print('last words', flush=True)
if what == 'hangs':
    subprocess.run(['sleep', '60'])
sys.exit(dict(fails=3, continues=85).get(what, 0))
"""


@pytest.fixture
def day(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / 'tools/benchmark'))
    return importlib.import_module('gpu_day')


def test_a_day_ends_in_time_whatever_fails_and_goes_on(
    day: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / 'program.py').write_text(PROGRAM)
    monkeypatch.setattr(day, 'HERE', tmp_path)
    limits = dict(good=20.0, wrong=20.0, hangs=1.0, fails=20.0, continues=20.0, costly=1000.0, small=20.0)
    items = [
        day.Item(name, 'Right', f'program.py {name} {{out}} {tmp_path}/told', seconds)
        for name, seconds in limits.items()
    ]
    folders = tmp_path / 'state', tmp_path / 'out'
    begin = time.monotonic()
    records = day.run_day(items, *folders, dict(device='none'), begin + 100)
    assert time.monotonic() - begin < 30
    assert (tmp_path / 'told').read_text().split() == ['good', 'wrong', 'hangs', 'fails', 'continues', 'small']
    assert {name: record['status'] for name, record in records.items()} == dict(
        good='done', wrong='wrong', hangs='too long (killed after 1 s)', fails='failed with status 3',
        continues='to be continued', small='done',
    )  # fmt: skip
    page = (tmp_path / 'out/gpu_day.md').read_text()
    sections = dict(part.split('\n\n', 1) for part in page.split('### ')[1:])
    assert 'last words' in sections['fails'] and 'last words' in sections['hangs'] and '1.5' in sections['hangs']
    assert '| 1.5 | **no** |' in sections['wrong'] and '| 1.5 | yes |' in sections['good']
    assert sections['costly'].startswith('Not begun')
    assert [item['item'] for item in json.loads((tmp_path / 'out/gpu_day.json').read_text())['items']] == list(records)

    (tmp_path / 'told').unlink()
    day.run_day(items, *folders, {}, time.monotonic() + 2000)
    again = ['costly', 'wrong', 'hangs', 'fails', 'continues']
    assert (tmp_path / 'told').read_text().split() == again, 'what was not tried comes before what failed'


@pytest.mark.parametrize(('device', 'smoke'), [('cuda', False), ('cuda', True), ('cpu', True)])
def test_every_program_of_the_day_takes_its_arguments(
    day: ModuleType, device: str, smoke: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    items = day.plan(device, smoke)
    assert len({item.file for item in items}) == len(items)
    assert [item.section for item in items[:4]] == ['Right'] * 4 and items[-1].section == 'Learns'
    for item in items:
        words = item.command.replace('{minutes}', '9').split()
        monkeypatch.setattr(sys, 'argv', words)
        args = importlib.import_module(f'tools.benchmark.{Path(words[0]).stem}').parse_arguments()
        assert str(args.out) == '{out}'
        for config in [word for word in words if word.startswith('configs/')]:
            assert (ROOT / config).exists()
    if not smoke:
        assert {goal.item for goal in GOALS} <= {item.name for item in items}


def test_goals_are_told_as_reached_missed_or_not_measured() -> None:
    phases = {'mixing, targets, losses': 0.02, 'views': 0.01, 'optimiser, EMA': 0.05, 'hooks, log, loop': 0.005}
    eager = dict(seconds=2.0, speed=1.5, mfu=0.2, phases=dict.fromkeys(phases, 0.9))
    compiled = dict(seconds=1.0, speed=2.5, mfu=0.3, phases=phases)
    shares = [dict(quantity='seconds', share=share) for share in (0.5, 0.7)]
    records = {'step ViT-S/16, bf16': dict(rows=[eager, compiled]), 'patch dropping': dict(rows=shares)}
    found = dict(line.removeprefix('| ').split(' | ', 1) for line in goals(records)[2:])
    assert found['ViT-S/16, bf16, times the plain bf16 step'] == 'at least 2 | 2.5 |'
    assert found['ViT-S/16, MFU'] == 'at least 0.35 | **0.3, missed** |'
    assert found['ViT-S/16, share of device views'] == 'at most 0.06 | 0.01 |'
    assert found['ViT-S/16, share of optimiser and EMA'] == 'at most 0.04 | **0.05, missed** |'
    assert found['keep=0.5, time'] == 'at most 0.6 | **0.7, missed** |'
    assert found['keep=0.5, activations'] == found['ViT-B/16, MFU'].replace('least 0.5', 'most 0.55')
    assert found['ViT-B/16, MFU'].endswith('not yet |')


@pytest.mark.parametrize('limit', [10, 32, 100, 1000, 5000])
def test_the_largest_batch_is_found_to_within_an_eighth(limit: int) -> None:
    found = largest(lambda batch: batch <= limit)
    assert found <= limit and found % 32 == 0
    assert found > limit - max(64, limit / 8)


@pytest.mark.long
def test_all_of_it_runs_on_a_cpu_once(tmp_path: Path) -> None:
    command = [sys.executable, 'tools/benchmark/gpu_day.py', '--device', 'cpu', '--minutes', '20', '--out', tmp_path]
    environment = {name: value for name, value in ENVIRONMENT.items() if name != 'PYTHONPATH'}
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)
    first = json.loads((tmp_path / 'gpu_day.json').read_text())['items']
    *checked, evidence = first
    assert {item['status'] for item in checked} == {'done'}, [(item['item'], item['lines']) for item in checked]
    assert all(item['rows'] for item in checked) and len(checked) == 8
    assert (evidence['item'], evidence['status']) == ('evidence', 'to be continued')
    command[command.index('20')] = '1'  # too short for the evidence to go on
    begin = time.monotonic()
    subprocess.run([*command, '--state', tmp_path], cwd=ROOT, env=environment, check=True, capture_output=True)
    assert time.monotonic() - begin < 60 and json.loads((tmp_path / 'gpu_day.json').read_text())['items'] == first
