"""A wheel holds configs and tools, and works outside the repository."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope='module')
def wheel(tmp_path_factory) -> Path:
    source, out = tmp_path_factory.mktemp('source') / 'mixcl', tmp_path_factory.mktemp('wheel')
    hidden = shutil.ignore_patterns('.*', 'build', 'work_dirs', 'data', '*.egg-info', '__pycache__')
    shutil.copytree(ROOT, source, ignore=hidden)
    build = [sys.executable, '-m', 'pip', 'wheel', '--no-deps', '--no-build-isolation', '-q', '-w', out, source]
    subprocess.run(build, check=True, capture_output=True)
    return next(out.glob('mixcl-*.whl'))


def test_the_wheel_ships_configs_and_tools(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    for folder in ('configs', 'tools'):
        expected = {
            f'mixcl/.mim/{path.relative_to(ROOT)}'
            for path in (ROOT / folder).rglob('*')
            if path.is_file() and '__pycache__' not in path.parts
        }
        assert expected and expected <= names
    assert not [name for name in names if name.startswith('tests/')]


def test_an_installed_config_can_be_read(wheel, tmp_path):
    install = [sys.executable, '-m', 'pip', 'install', '--no-deps', '-q', '--target', tmp_path, wheel]
    subprocess.run(install, check=True, capture_output=True)
    read = (
        'import mixcl; from pathlib import Path; from mixcl.engine.runners.launch import read_config; '
        "path = Path(mixcl.__file__).parent / '.mim/configs/patchmix/vit-s16_in1k.py'; "
        'print(path, read_config(path).model.mixer.num_mix)'
    )
    result = subprocess.run(
        [sys.executable, '-c', read], cwd=tmp_path, env={'PYTHONPATH': str(tmp_path)}, capture_output=True, text=True
    )
    config = tmp_path / 'mixcl/.mim/configs/patchmix/vit-s16_in1k.py'
    assert result.stdout.split() == [str(config), '3'], result.stderr
