"""The command ``mixcl``, wherever the package is installed; the files ``tools/NAME.py`` run the same commands.

``mixcl train patchmix/vit-s16_in1k`` is ``python tools/train.py configs/patchmix/vit-s16_in1k.py``. For several
processes: ``torchrun --nproc-per-node 8 -m mixcl train ... --launcher pytorch``.
"""

import resource
import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from types import ModuleType

import mixcl
from mixcl.errors import UserError, reported_to_user
from mixcl.starting import begin

COMMANDS = {
    'pretrain': 'Pretrain a backbone on your own images',
    'embed': 'Features of images from the backbone in a checkpoint',
    'neighbours': 'The images of a folder that are nearest to others, printed and drawn',
    'export': 'The backbone in a checkpoint, as timm, torchvision, Hugging Face or ONNX load it',
    'train': 'Train a model',
    'evaluate': "Evaluate a backbone by the papers' protocols, beside the papers' numbers",
    'visualize': 'Draw mixtures, views, attention, similarities, neighbours, a map of features, or curves',
    'report': 'Write an HTML page about one run, or several side by side',
    'compare': 'Train methods with several seeds on the same images, and tell where one is better',
    'configs': 'List the configs that come with mixcl',
    'print-config': 'Print a config as it resolves',
    'doctor': 'Check an installation: what is there, what is missing, and which command fixes it',
    'check-config': 'Check a config as a training run does before it touches data or a GPU',
    'quickstart': "Pretrain PatchMix on scikit-learn's digits and show what it learnt, in a few minutes",
    'test': 'Evaluate a checkpoint as its config says',
    'verify-data': 'Read every image of a folder, or of all data sets of a config, before a run does',
    'visualize-detections': 'Draw what a detector finds in test images, beside their annotations',
}
"""Commands and what each is for; first those that most people need."""


FILES = 128
"""Files that a process must be allowed to open at once: without, batches of data workers are lost."""


def module_of(name: str) -> ModuleType:
    """Import the module of mixcl.commands that implements a command."""
    return import_module(f'mixcl.commands.{name.replace("-", "_")}')


def parsed(name: str, words: Sequence[str], program: str | None = None) -> Namespace:
    """Parse the options of a command; its help calls it ``program``, by default the name of the started program."""
    command = module_of(name)
    parser = ArgumentParser(
        prog=program,
        description=f'{COMMANDS[name]}.',
        epilog=getattr(command, 'EXAMPLES', None),
        formatter_class=RawDescriptionHelpFormatter,
    )
    command.add_options(parser)
    return parser.parse_args(words)


def run(name: str, words: Sequence[str] | None = None, program: str | None = None) -> None:
    """Run a command, by default with the words of the command line; files of tools/ call this."""
    begin('__main__')
    with reported_to_user('mixcl doctor looks at the installation'):
        if not __debug__:
            raise UserError("torch does not train under Python's -O (PYTHONOPTIMIZE): start Python without it")
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        if 0 <= files < FILES:
            raise UserError(f'a process may open {files} files at once, which is too few: raise it by ulimit -n 4096')
        command = module_of(name)
    args = parsed(name, sys.argv[1:] if words is None else words, program)
    options = {setting: f'--{setting.replace("_", "-")}' for setting in vars(args)}
    options['labels'] = '--no-labels'
    options |= getattr(command, 'SETTINGS', {})
    with reported_to_user(getattr(command, 'AFTERWARDS', ''), options):
        if not getattr(args, 'allow_pickle', False):
            status = command.run(args)
        else:
            from mixcl.weights import allow_pickle

            with allow_pickle():
                status = command.run(args)
    if status:
        sys.exit(status)


def overview() -> str:
    """Return the help of ``mixcl``."""
    width = max(map(len, COMMANDS))
    lines = [f'  {name:{width}}  {text}' for name, text in COMMANDS.items()]
    more = 'mixcl COMMAND --help says more; mixcl --version tells the version'
    return '\n'.join(['usage: mixcl COMMAND ...', '', *lines, '', more])


def main(arguments: Sequence[str] | None = None) -> None:
    """Run ``mixcl NAME ...``, by default with the words of the command line."""
    name, *words = (sys.argv[1:] if arguments is None else arguments) or ['--help']
    if name in ('--help', '-h', 'help'):
        print(overview())
    elif name == '--version':
        print(f'mixcl {mixcl.__version__}')
    elif name in COMMANDS:
        run(name, words, f'mixcl {name}')
    else:
        with reported_to_user():
            near = get_close_matches(name, COMMANDS, n=1)
            hint = f'did you mean {near[0]!r}' if near else 'mixcl --help lists them'
            raise UserError(f'there is no command {name!r}; {hint}')


if __name__ == '__main__':
    main()
