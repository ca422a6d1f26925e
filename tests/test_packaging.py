"""A wheel holds the package, configs and tools, and its configs work outside the repository."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from mmengine.config import Config

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope='module')
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    source, out = tmp_path_factory.mktemp('source') / 'mixcl', tmp_path_factory.mktemp('wheel')
    hidden = shutil.ignore_patterns('.*', 'build', 'work_dirs', 'data', '*.egg-info', '__pycache__')
    shutil.copytree(ROOT, source, ignore=hidden)
    build = [sys.executable, '-m', 'pip', 'wheel', '--no-deps', '--no-build-isolation', '-q', '-w', out, source]
    subprocess.run(build, check=True, capture_output=True)
    return zipfile.ZipFile(next(out.glob('mixcl-*.whl')))


def files(folder: str) -> set[str]:
    paths = [path for path in (ROOT / folder).rglob('*') if path.is_file() and '__pycache__' not in path.parts]
    return {str(path.relative_to(ROOT)) for path in paths if '.mim' not in path.parts}


def test_the_wheel_ships_the_package_configs_and_tools(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    assert files('mixcl') <= names
    assert {f'mixcl/.mim/{path}' for path in files('configs') | files('tools')} <= names
    assert not [name for name in names if name.startswith('tests/')]


def test_an_installed_config_can_be_read(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    wheel.extractall(tmp_path)
    cfg = Config.fromfile(tmp_path / 'mixcl/.mim/configs/patchmix/vit-s16_in1k.py')
    assert cfg.model.mixer.num_mix == 3
