"""A wheel holds the package, configs and tools; config names, commands and calls work outside the repository."""

import ast
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from importlib import metadata as metadata_of
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

ROOT = Path(__file__).parent.parent
TINY = ('model.backbone.arch.num_layers=1', 'model.neck.hidden_channels=64', 'model.predictor.hidden_channels=64')
COPIES = 30


def files(folder: str) -> set[str]:
    paths = [path for path in (ROOT / folder).rglob('*') if path.is_file() and '__pycache__' not in path.parts]
    return {str(path.relative_to(ROOT)) for path in paths if '.mim' not in path.parts}


@pytest.fixture(scope='module')
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp('wheel')
    hidden = shutil.ignore_patterns('.*', 'build', 'work_dirs', '*.egg-info', '__pycache__')
    shutil.copytree(ROOT, folder / 'mixcl', ignore=hidden)
    build = [sys.executable, '-m', 'pip', 'wheel', '--no-deps', '--no-build-isolation', '-q', '-w', folder]
    subprocess.run([*build, folder / 'mixcl'], check=True, capture_output=True)
    return next(folder.glob('mixcl-*.whl'))


@pytest.fixture(scope='module')
def programs(wheel: Path) -> Path:
    """Return the programs of an environment with the wheel that borrows all other packages from this one."""
    home = wheel.parent / 'environment'
    subprocess.run([sys.executable, '-m', 'venv', '--without-pip', home], check=True)
    packages = next(home.glob('lib/python*/site-packages'))
    (packages / 'borrowed.pth').write_text(sysconfig.get_path('purelib') + '\n')
    pip = [sys.executable, '-m', 'pip', '--python', home / 'bin/python', 'install', '-q', '--no-deps', wheel]
    subprocess.run(pip, check=True, capture_output=True)
    return home / 'bin'


def run(programs: Path, folder: Path, *words: object) -> subprocess.CompletedProcess:
    unset = ('PYTHONPATH', 'PYTHONHOME')
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    environment |= dict(PATH=f'{programs}:{environment["PATH"]}', CUDA_VISIBLE_DEVICES='', OMP_NUM_THREADS='1')
    return subprocess.run([*map(str, words)], cwd=folder, env=environment, capture_output=True, text=True)


def test_the_wheel_ships_the_package_configs_and_tools(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    assert files('mixcl') <= names
    assert {f'mixcl/.mim/{path}' for path in files('configs') | files('tools')} <= names
    assert not [name for name in names if name.startswith('tests/')]


def test_the_wheel_declares_what_is_imported_and_its_types(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    (metadata,) = (archive.read(name).decode() for name in archive.namelist() if name.endswith('/METADATA'))
    declared = {canonical(name): extra for name, extra in re.findall(r'^Requires-Dist: ([\w.-]+)(.*)$', metadata, re.M)}
    modules = chain.from_iterable(map(imports, sorted((ROOT / 'mixcl').rglob('*.py'))))
    installed = metadata_of.packages_distributions()
    provided = {name: set(map(canonical, installed[name])) for name in {*modules} - {'mixcl'} if name in installed}
    assert {name: by for name, by in provided.items() if not by & declared.keys()} == {}
    needed = {name for name, rest in declared.items() if 'extra ==' not in rest}
    assert needed - set().union(*provided.values()) == {'tensorboard'}  # which torch imports
    assert 'mixcl/py.typed' in archive.namelist()


def imports(path: Path) -> set[str]:
    """Return the packages that a file imports."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    named = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    named |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    return {name.partition('.')[0] for name in named}


def canonical(name: str) -> str:
    return re.sub(r'[-_.]+', '-', name).lower()


def test_configs_by_name_and_scope_from_an_empty_folder(programs: Path, tmp_path: Path) -> None:
    (tmp_path / 'mine.py').write_text("_base_ = 'mixcl::patchmix/vit-s16_in1k.py'\nschedule = dict(epochs=7)\n")
    program = (
        "import mixcl.registry; from mmengine import Config; cfg = Config.fromfile('mine.py')\n"
        'print(mixcl.__file__, cfg.model.mixer.num_mix, cfg.schedule.epochs)'
    )
    assert re.search(r'environment/lib.* 3 7\n$', run(programs, tmp_path, 'python', '-c', program).stdout)
    own = run(programs, tmp_path, 'mixcl', 'print-config', 'mine.py', '--origin')
    assert re.search(r'epochs = 7  # mine\.py\n', own.stdout) and own.stderr == ''
    assert re.search(r'num_mix = 3  # \S+/_base_/methods/patchmix\.py\n', own.stdout)


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Write 300 photos of all sizes and formats; the last are smaller copies of the first, and one is damaged."""
    folder, random = tmp_path / 'photos', np.random.default_rng(0)
    folder.mkdir()
    drawn: list[Image.Image] = []
    for number in range(300 - COPIES):
        coarse = Image.fromarray(random.integers(0, 256, (4, 4, 3), dtype=np.uint8))
        size = (3000, 2000) if number == 0 else tuple(map(int, random.integers(40, 400, 2)))
        drawn.append(coarse.resize(size, Image.Resampling.BICUBIC).convert('L' if number % 9 == 8 else 'RGB'))
    drawn += [image.resize((160, 160 * image.height // image.width), Image.Resampling.BOX) for image in drawn[:COPIES]]
    for number, image in enumerate(drawn):
        image.save(folder / f'{number:03}.{("jpg", "png", "webp")[number % 3]}')
    (folder / '299.webp').write_bytes((folder / '298.png').read_bytes()[:200])
    return folder


@pytest.mark.long
def test_photos_become_a_model_of_timm_in_three_commands(programs: Path, photos: Path) -> None:
    page = (ROOT / 'docs/python.md').read_text()
    commands = [line.split() for line in re.search(r'```sh\n(mixcl pretrain.*?)```', page, re.S)[1].splitlines()]
    (photos.parent / 'neighbours.py').write_text(re.search(r'```python\n(# neighbours.*?)```', page, re.S)[1])
    small = ['--epochs', 1, '--image-size', 32, '--num-workers', 0, '--cfg-options', *TINY]
    assert len(commands) == 3
    for words, more in zip(commands, (small, [], []), strict=True):
        done = run(programs, photos.parent, *words, *more)
        assert done.returncode == 0, done.stderr[-3000:]
    nearest = dict(line.split()[:2] for line in done.stdout.splitlines() if ' cannot ' not in line)
    assert len(nearest) == 299 and 'photos/299.webp cannot be read' in done.stdout
    originals = {Path(name).stem: Path(other).stem for name, other in nearest.items()}
    found = [originals[f'{300 - COPIES + number:03}'] == f'{number:03}' for number in range(COPIES - 1)]
    assert np.mean(found) > 0.8
