"""The command ``mixcl``: its subcommands, their scripts in tools/, and configs by name."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from tools.command import ENVIRONMENT

from mixcl import commands, console
from mixcl.errors import UserError
from mixcl.shipped import find_config, known_configs

ROOT = Path(__file__).parent.parent
DOORS = {
    path: found[1]
    for path in sorted((ROOT / 'tools').glob('*.py'))
    if (found := re.search(r"    run\('([\w-]+)'\)\n$", path.read_text()))
}
"""Files of tools/ that are commands, and the commands' names."""


def test_every_command_has_a_module_and_a_line_of_help(capsys: pytest.CaptureFixture) -> None:
    modules = {path.stem.replace('_', '-') for path in Path(commands.__file__).parent.glob('[!_]*.py')}
    assert set(console.COMMANDS) == modules == {*DOORS.values(), 'doctor'}
    console.main(['--help'])
    shown = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line.startswith('  ')]
    assert shown == list(console.COMMANDS)


@pytest.mark.parametrize('path', DOORS, ids=lambda path: path.stem)
def test_a_script_is_the_command(path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    with pytest.raises(SystemExit):
        console.main([DOORS[path], '--help'])
    help_of_command = capsys.readouterr().out
    assert help_of_command.startswith(f'usage: mixcl {DOORS[path]} [-h]')
    monkeypatch.setattr(sys, 'argv', [str(path), '--help'])
    with pytest.raises(SystemExit):
        runpy.run_path(str(path), run_name='__main__')
    help_of_script = capsys.readouterr().out
    assert help_of_script.startswith(f'usage: {path.name} [-h]')
    assert help_of_script.partition('options:')[2] == help_of_command.partition('options:')[2]


def test_a_name_that_is_no_command_has_a_neighbour(capsys: pytest.CaptureFixture) -> None:
    with pytest.raises(SystemExit) as end:
        console.main(['trian'])
    assert end.value.code == 2 and "no command 'trian'; did you mean 'train'" in capsys.readouterr().err


def test_configs_are_found_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = ROOT / 'configs/patchmix/vit-s16_in1k.py'
    monkeypatch.chdir(tmp_path)
    for name in ('patchmix/vit-s16_in1k', 'patchmix/vit-s16_in1k.py', 'mixcl::patchmix/vit-s16_in1k.py', wanted):
        assert find_config(name) == wanted
    own = tmp_path / 'patchmix/vit-s16_in1k'
    own.parent.mkdir()
    own.touch()
    assert find_config('patchmix/vit-s16_in1k') == Path('patchmix/vit-s16_in1k')  # a file comes first
    assert set(known_configs('mixco/r50*')) == {'mixco/r50_in1k_mocov2', 'mixco/r50_tinyimagenet_mocov2'}
    assert 'sdmp/vit-s16_in1k_dino' in known_configs('in1k_dino') and not known_configs('evaluation')
    with pytest.raises(UserError, match='`mixcl configs` lists those'):
        find_config('nothing/like/it')


@pytest.mark.parametrize(
    ('limit', 'words', 'cause'), [('true', ['-O'], "Python's -O"), ('ulimit -n 20', [], 'ulimit -n')]
)
def test_what_no_command_can_work_with_is_said_first(limit: str, words: list[str], cause: str) -> None:
    command = [sys.executable, *words, '-m', 'mixcl', 'train', 'patchmix/vit-xs4_digits']
    ran = subprocess.run(['sh', '-c', f'{limit} && exec "$@"', 'sh', *command], capture_output=True, text=True)
    assert ran.returncode == 2 and re.fullmatch(f'error: .*{re.escape(cause)}.*\n', ran.stderr)


def test_torch_does_not_comment_on_the_number_of_workers() -> None:
    program = (
        "from mixcl.starting import begin; begin('__main__')\n"
        'from torch.utils.data import DataLoader; print(DataLoader([1], num_workers=999).num_workers)'
    )
    ended = subprocess.run([sys.executable, '-c', program], env=ENVIRONMENT, capture_output=True, text=True)
    assert ended.stdout == '999\n' and ended.stderr == ''
