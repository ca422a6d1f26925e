"""Which of the data folders that the configs name are there."""

from collections.abc import Iterator
from pathlib import Path

from mmengine.config import Config

from mixcl.configuration.data_roots import folder_problem
from mixcl.configuration.paths import walk
from mixcl.doctor.findings import NOTE, OK, Finding

PACKAGE = Path(__file__).parents[1]


def check_data() -> list[Finding]:
    """Look for the data folders of ``configs/_base_/datasets``."""
    folder = next((path for path in (PACKAGE.parent / 'configs', PACKAGE / '.mim/configs') if path.is_dir()), None)
    if folder is None:
        return [Finding(NOTE, 'configs', 'are not installed with this package; data folders were not looked for')]
    roots: dict[str, list[str]] = {}
    for path in sorted((folder / '_base_/datasets').glob('*.py')):
        for root in set(_roots(Config.fromfile(path))):
            roots.setdefault(root, []).append(path.stem)
    return [_finding(root, names) for root, names in sorted(roots.items())]


def _roots(cfg: Config) -> Iterator[str]:
    return (str(value) for path, value in walk(dict(cfg.items())) if path and path[-1] == 'data_root' and value)


def _finding(root: str, names: list[str]) -> Finding:
    problem = folder_problem(Path(root))
    used = f'of {", ".join(names)}'
    if problem is None:
        return Finding(OK, root, f'data {used}')
    return Finding(NOTE, root, f'{problem}; data {used}: put them there or pass --data-root DIR')
