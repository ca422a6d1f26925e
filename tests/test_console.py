"""The command ``mixcl``: the tools under one name, and configs by name."""

import sys
from pathlib import Path

import pytest

from mixcl import console
from mixcl.errors import UserError
from mixcl.shipped import find_config, known_configs

ROOT = Path(__file__).parent.parent


@pytest.fixture(autouse=True)
def as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, 'argv', sys.argv)
    monkeypatch.setitem(sys.modules, '__main__', sys.modules['__main__'])


def test_every_tool_is_a_command_that_speaks_of_itself_as_mixcl(capsys: pytest.CaptureFixture) -> None:
    scripts = [path for path in (ROOT / 'tools').glob('*.py') if 'def parse_arguments' in path.read_text()]
    assert len(console.commands()) == len(scripts) + 1
    console.main(['--help'])
    shown = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line.startswith('  ')]
    assert shown[: len(console.FIRST)] == list(console.FIRST) and set(shown) == set(console.commands())
    for name in ('train', 'doctor'):
        with pytest.raises(SystemExit):
            console.main([name, '--help'])
        assert capsys.readouterr().out.startswith(f'usage: mixcl {name} [-h]')


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
