"""Rules on what no source file may contain."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCES = [path for folder in ('mixcl', 'tools', 'configs') for path in sorted((ROOT / folder).rglob('*.py'))]
TEXTS = [*SOURCES, *(ROOT / 'docs').rglob('*.md'), ROOT / 'README.md', *(ROOT / 'tools').glob('*.sh')]

LOADERS = {'mixcl/weights/checkpoint.py'}
"""Only place where files are unpickled, with ``weights_only``."""


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def calls(path: Path) -> Iterator[tuple[str, set[str]]]:
    """Yield every call of a file: what is called, and the names of its keyword arguments."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), {str(keyword.arg) for keyword in node.keywords}


def test_files_are_unpickled_in_one_place_only() -> None:
    unpickling = re.compile(r'(torch|pickle|joblib|cloudpickle|dill)\.loads?|.*load_state_dict_from_url|.*load_url')
    found = {name(path) for path in SOURCES for called, _ in calls(path) if unpickling.fullmatch(called)}
    assert found == LOADERS
    for called, keywords in calls(ROOT / next(iter(LOADERS))):
        assert called != 'torch.load' or 'weights_only' in keywords


def test_no_address_of_the_lapsed_host() -> None:
    lapsed = 'open' + 'mmlab.com'
    assert [name(path) for path in TEXTS if lapsed in path.read_text()] == []


def test_tests_import_nothing_private() -> None:
    private = [
        f'{name(path)}: {alias.name}'
        for path in (ROOT / 'tests').rglob('*.py')
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith('mixcl')
        for alias in node.names
        if alias.name.startswith('_') and not alias.name.startswith('__')
    ]
    assert private == []
