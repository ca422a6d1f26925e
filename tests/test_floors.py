"""Imports point downwards: from every module to lower floors, or to its own package."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
MODULES = sorted((ROOT / 'mixcl').rglob('*.py'))

FLOORS = [
    ['faults', 'machine', 'terminal', 'feature_statistics'],
    ['errors'],
    ['ranges', 'registry', 'randomness', 'distributed', 'files', 'quiet_log', 'command_line', 'shipped', 'starting'],
    ['setting_ranges'],
    ['composition', 'quiet_imports'],
    ['mixers', 'losses', 'heads', 'backbones'],
    ['encoders'],
    ['algorithms'],
    ['datasets', 'recipes.paths'],
    ['weights'],
    ['recipes'],
    ['engine'],
    ['evaluation'],
    ['visualization', 'detection'],
    ['apis', 'doctor'],
    ['comparison'],
    ['commands'],
    ['console'],
    ['__main__'],
]
"""Packages and modules of mixcl, lowest first; tools/ is above them. docs/architecture.md draws them."""

FLOOR_OF = {part: number for number, parts in enumerate(FLOORS) for part in parts}


def name(path: Path) -> str:
    """Return a module's name: ``engine.hooks.banner`` for ``mixcl/engine/hooks/banner.py``."""
    parts = path.relative_to(ROOT / 'mixcl').with_suffix('').parts
    return '.'.join(parts[:-1] if parts[-1] == '__init__' else parts)


def part_of(module: str) -> str:
    """Return the entry of FLOORS that a module belongs to."""
    words = module.split('.')
    parts = ['.'.join(words[:end]) for end in range(len(words), 0, -1)]
    found = next((part for part in parts if part in FLOOR_OF), None)
    assert found, f'mixcl/{words[0]} has no floor yet: add it to FLOORS'
    return found


def imports(path: Path) -> Iterator[str]:
    """Yield the modules of mixcl that a file imports, also within functions, without ``mixcl.``"""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f'{path}: relative import'
            # A name imported from a package may be one of its modules.
            names = [f'{node.module}.{alias.name}' for alias in node.names]
        else:
            continue
        yield from (full.removeprefix('mixcl.') for full in names if full.startswith('mixcl.'))


def reached(path: Path) -> set[str]:
    """Return the other parts that a module imports from."""
    found = {part_of(imported) for imported in imports(path) if imported != '__version__'}
    return found - {part_of(name(path))}


def test_imports_point_downwards() -> None:
    upwards = [
        f'{name(path)} imports {part}'
        for path in MODULES
        if name(path)
        for part in sorted(reached(path))
        if FLOOR_OF[part] >= FLOOR_OF[part_of(name(path))]
    ]
    assert upwards == []


CLASSES = {
    node.name: part_of(name(path))
    for path in MODULES
    if name(path)
    for node in ast.parse(path.read_text()).body
    if isinstance(node, ast.ClassDef)
}
"""Classes of mixcl, and the part that each stands in."""

NAMED_UPWARDS = {
    'recipes': 'writes into configs what is built later',
    'recipes.paths': 'tells pretraining by its train loop',
    'registry': 'names the package that registers a part; the package is imported when the part is first asked for',
    'algorithms': "gives mmpretrain's algorithms mixcl's preprocessor of images, which stands with the data sets",
    'engine': 'a resumed run may gain ImagesHook',
    'weights': 'DetectionViT has its image size under a name of its own',
}
"""Parts that name a class or module of a higher floor in a string, and why they may."""


def strings(path: Path) -> Iterator[str]:
    """Yield the strings of a file, without docstrings."""
    tree = ast.parse(path.read_text())
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value


def named(text: str) -> str | None:
    """Return the part of the class or module of mixcl that a string names."""
    word = text.removeprefix('mixcl.')
    is_module = word not in ('', text) and (ROOT / 'mixcl' / word.replace('.', '/')).exists()
    return CLASSES.get(word) or (part_of(word) if is_module else None)


def test_strings_name_lower_floors_but_where_told() -> None:
    upwards = {
        part_of(name(path))
        for path in MODULES
        if name(path)
        for part in set(map(named, strings(path))) - {None, part_of(name(path))}
        if FLOOR_OF[part] >= FLOOR_OF[part_of(name(path))]
    }
    assert upwards == NAMED_UPWARDS.keys()


HOOKS_ELSEWHERE = {
    'visualization.images_hook': 'draws figures',
    'apis.learnt_hook': 'encodes the images of figures',
    'detection.heads': 'loads a part of mmdet',
    'detection.precise_batch_norm': 'calls detectors of mmdet',
}


def test_hooks_stand_together() -> None:
    elsewhere = {
        name(path)
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef) and any(ast.unparse(base).endswith('Hook') for base in node.bases)
        if not name(path).startswith('engine.hooks.')
    }
    assert elsewhere == HOOKS_ELSEWHERE.keys()
