"""``mixcl embed CHECKPOINT --images FOLDER --out features``: write features of images from a checkpoint's backbone.

``mixcl embed CHECKPOINT --data list:PATH.csv --out features``
``mixcl embed CHECKPOINT --data-config CONFIG --split test --out features``

``mixcl embed CHECKPOINT --images FOLDER --tokens --half --out tokens``

The folder gets a ``features_00000.npz`` for each 10,000 images (500 with ``--tokens``), with features, file names and
labels, and a ``meta.json``; :func:`mixcl.evaluation.feature_files.read_features` reads them. After an interruption, the
same command continues.
"""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from mixcl.command_line import WEIGHTS, add_allow_pickle, add_config_option, add_data_root, positive
from mixcl.errors import UserError, first_few, printable
from mixcl.machine import cpu_cores

AFTERWARDS = 'the same command continues with the files that are missing'

FEATURES = ('Output', 'LastClassTokens', 'ClassTokenAndAverage', 'PooledGrid')


def not_negative(text: str) -> int:
    return positive(text) if int(text) else 0


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument('checkpoint', help=WEIGHTS)
    images = parser.add_mutually_exclusive_group(required=True)
    images.add_argument('--images', metavar='FOLDER', help='a folder of images, however deep')
    images.add_argument('--data', metavar='KIND:PATH', help='folder:PATH, list:PATH.csv, hf:PATH or tar:PATTERN')
    images.add_argument(
        '--data-config', metavar='CONFIG', help='a config whose data set is taken, prepared as the config tests'
    )
    parser.add_argument('--split', choices=['train', 'test'], default='test', help='which images of --data-config')
    add_data_root(parser, 'root folder of the images of --data-config, or of a list')
    parser.add_argument('--out', required=True, type=Path, metavar='FOLDER', help='where the features go')
    parser.add_argument('--encoder', choices=['online', 'target'], help="default: that of the method's linear probe")
    feature = parser.add_mutually_exclusive_group()
    feature.add_argument('--feature', choices=FEATURES, default='Output', help='see mixcl.evaluation.models')
    feature.add_argument(
        '--tokens', dest='feature', action='store_const', const='Tokens', help='a vector for each cell: (n, h, w, C)'
    )
    parser.add_argument('--half', action='store_true', help='write float16 in place of float32')
    parser.add_argument('--image-size', type=positive, metavar='PIXELS', help='for --images and --data: crop to it')
    add_config_option(parser)
    add_allow_pickle(parser)
    parser.add_argument('--amp', action='store_true', help='encode under bfloat16 autocast')
    parser.add_argument('--batch-size', type=positive, default=256)
    parser.add_argument('--num-workers', type=not_negative, default=min(4, cpu_cores()),
                        help='processes that load images')  # fmt: skip
    parser.add_argument('--images-per-file', type=positive, metavar='N', help='default: 10,000, with --tokens 500')
    parser.add_argument('--device', choices=['cpu', 'cuda'], help='default: cuda where there is one')


def run(args: Namespace) -> None:
    if args.data_config and args.image_size:
        raise UserError('--image-size is for --images and --data; those of --data-config are prepared as it says')
    from mmengine.registry import DefaultScope

    with DefaultScope.overwrite_default_scope('mixcl'):
        extract(args)


def extract(args: Namespace) -> None:
    import torch
    from mmengine.config import Config

    from mixcl.algorithms.checks import check_whole_patches
    from mixcl.datasets import KeyedDataset
    from mixcl.evaluation.feature_files import extract_to_files, open_folder
    from mixcl.recipes.images import config_images, source_images
    from mixcl.recipes.prepared import prepared
    from mixcl.recipes.subject import read_subject

    device = args.device or ('cuda' if torch.cuda.is_available() else 'cpu')
    if device == 'cuda' and not torch.cuda.is_available():
        raise UserError('--device cuda: torch sees no GPU here; leave the option out')
    subject = read_subject(args.checkpoint, args.config)
    if not subject.encoders:
        raise UserError(f'{args.checkpoint!r} has no weights to compute features with; name a checkpoint')
    model = subject.encoder(args.encoder, args.feature)
    print(f'{model.side} encoder in {printable(model.source)}: {model.loaded}')
    if args.data_config:
        images = config_images(prepared(args.data_config, data_root=args.data_root), args.split)
    else:
        spec = args.data or f'folder:{args.images}'
        pipeline = subject.pipeline(args.image_size)
        images = source_images(spec, subject.config or Config(), pipeline, args.data_root)
    dataset = KeyedDataset(images)
    advice = 'crop to a multiple of it in its pipeline' if args.data_config else 'give a multiple of it by --image-size'
    check_whole_patches(model.backbone, dataset[0]['inputs'], advice)
    images_per_file = args.images_per_file or (500 if args.feature == 'Tokens' else 10_000)
    identity = dict(
        checkpoint=subject.sha256,
        encoder=model.side,
        model=subject.settings(args.feature),
        images=images,
        images_per_file=images_per_file,
        precision=('bf16' if args.amp else 'fp32') + (', stored as fp16' if args.half else ''),
    )
    open_folder(args.out, identity)
    model.to(device)
    with torch.autocast(device, torch.bfloat16, enabled=args.amp):
        unreadable = extract_to_files(
            args.out, model, dataset, images_per_file, args.batch_size, args.num_workers, args.half
        )
    names = [*map(str, dataset.metainfo.get('classes') or ())]
    classes = f'; {len(names)} classes ({first_few(names)})' if names else ''
    print(f'{printable(str(args.out))}: features of {len(dataset)} images, {unreadable} of them unreadable{classes}')
    if args.feature == 'Tokens':
        height, width = model.cell_size
        print(f'a cell has {height} x {width} pixels of the image after resizing and cropping')
    print(f'next, in Python: mixcl.evaluation.feature_files.read_features({str(args.out)!r})')
