"""The command ``mixcl``: all tools under one name, wherever the package is installed.

``mixcl train patchmix/vit-s16_in1k`` is ``python tools/train.py configs/patchmix/vit-s16_in1k.py``. For several
processes: ``torchrun --nproc-per-node 8 -m mixcl train ... --launcher pytorch``.
"""

import ast
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType

import mixcl
from mixcl.errors import UserError, reported_to_user
from mixcl.shipped import shipped
from mixcl.starting import begin

FIRST = ('pretrain', 'embed', 'export', 'train', 'evaluate', 'visualize', 'report', 'configs', 'print-config', 'doctor')
NAMES = dict(extract_features='embed')
"""Of the commands that are not called as their files in tools/."""

NOT_COMMANDS = ('torchrun', 'check_operators')


def commands() -> dict[str, Path]:
    """The files of the commands by name; those that most people need first."""
    paths = [path for path in shipped('tools').glob('*.py') if path.stem not in NOT_COMMANDS]
    found = {path.stem.replace('_', '-'): path for path in paths}
    for stem, name in NAMES.items():
        if name not in found:  # a file of that name comes first
            found[name] = found.pop(stem.replace('_', '-'))
    found['doctor'] = Path(mixcl.__file__).with_name('doctor.py')
    order = {name: number for number, name in enumerate(FIRST)}
    return dict(sorted(found.items(), key=lambda item: (order.get(item[0], len(order)), item[0])))


def summary(path: Path) -> str:
    """What a command is for, as its file says first."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding='utf-8'))) or ''
    return text.partition('\n')[0].partition(': ')[0].partition(' (')[0].rstrip('.')


def overview() -> str:
    """The help of ``mixcl``."""
    known = commands()
    width = max(map(len, known))
    lines = [f'  {name:{width}}  {summary(path)}' for name, path in known.items()]
    return '\n'.join(
        [
            'usage: mixcl COMMAND ...',
            '',
            *lines,
            '',
            'mixcl COMMAND --help says more; mixcl --version tells the version',
        ]
    )


def run(path: Path, words: list[str]) -> None:
    """Run a file as Python runs a script, but under another name: its help and messages say ``mixcl train``."""
    module = ModuleType('__main__')  # runpy would put the name of the file into sys.argv
    module.__file__ = str(path)
    sys.argv, sys.modules['__main__'] = words, module
    sys.path.insert(0, str(path.parent))  # some have modules beside them
    exec(compile(path.read_bytes(), path, 'exec'), vars(module))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command; by default the one of the command line."""
    begin('__main__')
    words = list(sys.argv[1:] if arguments is None else arguments)
    name = words[0] if words else '--help'
    with reported_to_user('mixcl doctor looks at the installation'):
        if name in ('--help', '-h', 'help'):
            print(overview())
        elif name == '--version':
            print(f'mixcl {mixcl.__version__}')
        else:
            path = commands().get(name)
            if path is None:
                near = get_close_matches(name, commands(), n=1)
                hint = f'did you mean {near[0]!r}' if near else 'mixcl --help lists them'
                raise UserError(f'there is no command {name!r}; {hint}')
            run(path, [f'mixcl {name}', *words[1:]])


if __name__ == '__main__':
    main()
