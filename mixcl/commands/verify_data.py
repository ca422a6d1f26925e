"""``mixcl verify-data FOLDER``: read every image of a folder, or of all data sets of a config, before a run does.

Instead of the folder: ``configs/patchmix/vit-s16_in1k.py``, or a source such as ``tar:shards/*.tar``.

Exit status: 0 if all can be read, 1 if some cannot (they are written to ``--out``), 2 for a mistake in the command.
Unprintable characters of file names are written as in Python: ``\\n``.
"""

from argparse import ArgumentParser, Namespace
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from mixcl.command_line import add_data_root, add_overrides, positive
from mixcl.errors import UserError, printable
from mixcl.files import check_writable
from mixcl.machine import cpu_cores

if TYPE_CHECKING:
    from mmengine.dataset import BaseDataset

AFTERWARDS = 'nothing is kept, the same command starts again'


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument('data', help='a folder of images, or list:PATH.csv, hf:PATH, tar:PATTERN; or a config')
    add_data_root(parser, 'root folder of every data set of the config, or of a list')
    parser.add_argument('--out', default='work_dirs/unreadable_images.txt', help='for the list of unreadable images')
    parser.add_argument('--num-workers', type=positive, default=cpu_cores(), help='processes; default one per CPU core')
    add_overrides(parser)


def run(args: Namespace) -> int:
    out = Path(args.out)
    if out.is_dir():
        raise UserError(f'--out {args.out} is a folder: give the name of a file')
    check_writable(out.parent, '--out')
    from mixcl.datasets.verification import image_files, verify_images

    files = image_files(find_datasets(args))
    if not files:
        print('nothing to check: the images of this config are not in files of their own')
        return 0
    unreadable, converted = verify_images(files, args.num_workers)
    for kind, number in sorted(Counter(note.kind for note in converted).items()):
        print(f'{number} {kind}: readable, training converts them to 8-bit colour')
    for kind, number in sorted(Counter(note.kind for note in unreadable).items()):
        print(f'{number} {kind}: NOT readable')
    print(f'{len(files) - len(unreadable)} of {len(files)} images can be read')
    if unreadable:
        out.write_text(''.join('\t'.join(map(printable, note)) + '\n' for note in unreadable), encoding='utf-8')
        print(f'the others are listed in {printable(args.out)}')
        return 1
    if out.is_file():
        out.unlink()  # the list of an earlier call
    return 0


def find_datasets(args: Namespace) -> 'list[BaseDataset]':
    from mmengine.registry import DefaultScope

    from mixcl.datasets import ImageFolder, KeyedDataset
    from mixcl.recipes.data_roots import check_data_roots, data_sets
    from mixcl.recipes.own_data import source_config
    from mixcl.recipes.paths import kind_of
    from mixcl.recipes.prepared import prepared
    from mixcl.registry import DATASETS
    from mixcl.shipped import known_configs

    if Path(args.data).is_dir():
        if args.data_root:
            raise UserError('--data-root is for configs and lists: leave it out')
        return [ImageFolder(args.data, split='all')]
    if ':' in args.data and '::' not in args.data:
        with DefaultScope.overwrite_default_scope('mixcl'):
            return [DATASETS.build({**source_config(args.data, args.data_root), 'lazy_init': False})]
    if not args.data.endswith('.py') and args.data.removeprefix('mixcl::') not in known_configs():
        raise UserError(f'{args.data} is neither a folder nor a config, nor what --data takes; give one')
    cfg = prepared(args.data, cfg_options=args.cfg_options, data_root=args.data_root)
    if cfg.get('default_scope') == 'mmdet':
        raise UserError(f'{args.data} is for detection; check its image folders instead, one after the other')
    check_data_roots(cfg)
    with DefaultScope.overwrite_default_scope('mixcl'):
        wrapped = [config['dataset'] if kind_of(config) == 'KeyedDataset' else config for config in data_sets(cfg)]
        return [part for config in wrapped for part in KeyedDataset(config).parts]
