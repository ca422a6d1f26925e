"""The GPU day ends in time whatever fails, continues where it stopped, and runs on a CPU as a whole."""

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tools.command import ENVIRONMENT, ROOT

from tools.benchmark import gpu_day
from tools.benchmark.gpu_day import Item, plan, run_day

PROGRAM = """
import subprocess, sys
what, told = sys.argv[1:]
with open(told, 'a') as file:
    file.write(what + ' ')
print('last words', flush=True)
if what == 'hangs':
    subprocess.run(['sleep', '60'])
sys.exit(3 * (what == 'fails'))
"""


def test_a_day_ends_in_time_whatever_fails_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / 'program.py').write_text(PROGRAM)
    monkeypatch.setattr(gpu_day, 'ROOT', tmp_path)
    limits = dict(good=20.0, hangs=4.0, fails=20.0, costly=1000.0, small=20.0)
    items = [Item(name, f'program.py {name} {tmp_path}/told', seconds) for name, seconds in limits.items()]
    begin = time.monotonic()
    became = run_day(items, tmp_path / 'out', begin + 100)
    assert time.monotonic() - begin < 30
    assert (tmp_path / 'told').read_text().split() == ['good', 'hangs', 'fails', 'small']
    assert [*became.values()] == ['done', 'killed after 4 s', 'status 3', 'not begun', 'done']
    assert (tmp_path / 'out/01-hangs.log').read_text() == 'last words\n'
    (tmp_path / 'told').unlink()
    run_day(items, tmp_path / 'out', time.monotonic() + 2000)
    assert (tmp_path / 'told').read_text().split() == ['hangs', 'fails', 'costly']


@pytest.mark.parametrize('device', ['cuda', 'cpu'])
def test_every_program_and_config_of_the_day_exists(device: str) -> None:
    for item in plan(device):
        files = [word for word in item.command.split() if word.endswith('.py') or '/' in word]
        assert files and all((ROOT / file).is_file() for file in files if '{' not in file)
        if ' -k ' in item.command:
            (name,) = re.findall(' -k (.+?) ', item.command)
            assert name not in files[0] and len(re.findall(f'def test_.*{name}', (ROOT / files[0]).read_text())) == 1


@pytest.mark.long
def test_all_of_it_runs_on_a_cpu_once(tmp_path: Path) -> None:
    command = [sys.executable, 'tools/benchmark/gpu_day.py', '--device', 'cpu', '--minutes', '20', '--out', tmp_path]
    environment = {name: value for name, value in ENVIRONMENT.items() if name != 'PYTHONPATH'}
    result = subprocess.run(command, cwd=ROOT, env=environment, check=False, capture_output=True, text=True)
    logs = {file.name: file.read_text()[-2000:] for file in sorted(tmp_path.glob('*.log'))}
    assert result.returncode == 0 and len(logs) == 9, (result.stdout, logs)
