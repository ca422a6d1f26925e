"""``mixcl quickstart``: pretrain PatchMix on scikit-learn's digits and show what it learnt, in a few minutes."""

from argparse import ArgumentParser, Namespace
from importlib.util import module_from_spec, spec_from_file_location

from mixcl.command_line import add_data_root, add_overrides
from mixcl.shipped import shipped


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument('--config', default='patchmix/vit-xs4_digits', help='another small config with labels')
    parser.add_argument('--work-dir', default='work_dirs/quickstart')
    parser.add_argument('--overwrite', action='store_true', help='remove the checkpoints of a run in --work-dir')
    add_data_root(parser)
    add_overrides(parser)


def run(args: Namespace) -> None:
    spec = spec_from_file_location('quickstart', shipped('tools') / 'quickstart.py')
    assert spec and spec.loader
    program = module_from_spec(spec)
    spec.loader.exec_module(program)
    program.main(args)
