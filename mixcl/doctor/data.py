"""Which of the data folders that the configs name are there."""

from pathlib import Path

from mmengine.config import Config

from mixcl.configuration.data_roots import folder_problem
from mixcl.configuration.paths import walk
from mixcl.doctor import NOTE, OK, Finding

PACKAGE = Path(__file__).parents[1]


def check_data() -> list[Finding]:
    """Look for the data folders of ``configs/_base_/datasets``."""
    folder = next((path for path in (PACKAGE.parent / 'configs', PACKAGE / '.mim/configs') if path.is_dir()), None)
    if folder is None:
        return [Finding(NOTE, 'configs', 'are not installed with this package; data folders were not looked for')]
    names: dict[str, list[str]] = {}
    for path in sorted((folder / '_base_/datasets').glob('*.py')):
        values = walk(dict(Config.fromfile(path).items()))
        for root in {str(value) for place, value in values if place and place[-1] == 'data_root' and value}:
            names.setdefault(root, []).append(path.stem)
    return [_finding(root, f'of {", ".join(used)}') for root, used in sorted(names.items())]


def _finding(root: str, used: str) -> Finding:
    problem = folder_problem(Path(root))
    if problem is None:
        return Finding(OK, root, f'data {used}')
    return Finding(NOTE, root, f'{problem}; data {used}: put them there or pass --data-root DIR')
