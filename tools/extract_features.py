"""Features of a folder of images, or of a config's data set, from the backbone in a checkpoint.

``python tools/extract_features.py CHECKPOINT --images FOLDER --out features``
``python tools/extract_features.py CHECKPOINT --config CONFIG --split test --out features.npz``

A folder gets ``features.npy`` (images, dimensions) float32, to be read by ``numpy.load(..., mmap_mode='r')``,
``names.txt`` and, where there are labels, ``labels.npy``; images that could not be read have rows of NaN and are listed
in ``unreadable.txt``. The same command continues where it was interrupted.
"""

import argparse
import sys
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import mmengine
import torch
from mmengine.config import Config
from mmengine.dataset import BaseDataset
from mmengine.model import BaseModel
from mmengine.registry import DefaultScope

from mixcl import __version__
from mixcl.configuration import OverrideAction
from mixcl.engine.runners.dry_run import told_as_user_error
from mixcl.engine.runners.launch import read_config
from mixcl.errors import UserError, reported_to_user
from mixcl.evaluation.extraction import extract_to_files
from mixcl.evaluation.feature_files import FeatureFiles, check_packed
from mixcl.evaluation.image_sources import (
    Pipeline,
    ReadableImages,
    config_images,
    content_digest,
    folder_images,
    folder_pipeline,
    labels_of,
    names_of,
)
from mixcl.registry import MODELS
from mixcl.weights import (
    ENCODERS,
    PretrainedBackbone,
    allow_pickle,
    backbone_config,
    check_known,
    load_backbone,
    local_file,
    read_pretrained,
    sha256_of,
)

FEATURES = ('Output', 'LastClassTokens', 'ClassTokenAndAverage', 'PooledGrid', 'RandomHead')


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description='Extract features of images.')
    parser.add_argument('checkpoint', help='a pretraining checkpoint, a classifier, or the weights of a backbone')
    images = parser.add_mutually_exclusive_group(required=True)
    images.add_argument('--images', metavar='FOLDER', help='a folder of images, however deep, labelled or not')
    images.add_argument('--config', help='a config whose data set is taken, prepared as the config tests')
    parser.add_argument('--split', choices=['train', 'test'], default='test', help='which images of --config')
    parser.add_argument('--data-root', metavar='DIR', help='root folder of the data set of --config')
    parser.add_argument('--out', required=True, metavar='PATH', help='a folder, or a .npz file for small sets')
    parser.add_argument('--encoder', choices=ENCODERS, default='online', help='which encoder of the checkpoint')
    parser.add_argument('--feature', choices=FEATURES, default='Output', help='see mixcl.backbones')
    parser.add_argument(
        '--feature-options', nargs='+', action=OverrideAction, default={}, metavar='NAME=VALUE', help='such as blocks=4'
    )
    parser.add_argument('--image-size', type=int, metavar='PIXELS', help='for --images: resize and crop to this size')
    parser.add_argument(
        '--backbone-config', metavar='CONFIG', help='the config of the backbone, for a checkpoint that carries none'
    )
    parser.add_argument(
        '--allow-pickle', action='store_true', help='read checkpoints that may run code: only from those you trust'
    )
    parser.add_argument('--batch-size', type=int, default=256)
    parser.add_argument('--workers', type=int, default=4, help='processes that load images')
    parser.add_argument('--save-every', type=int, default=20, metavar='BATCHES', help='write after so many batches')
    parser.add_argument('--device', default='cuda' if torch.cuda.is_available() else 'cpu')
    return parser.parse_args()


def check_arguments(args: argparse.Namespace) -> None:
    for name, least in dict(batch_size=1, workers=0, save_every=1, image_size=1).items():
        value = getattr(args, name)
        if value is not None and value < least:
            raise UserError(f'--{name.replace("_", "-")} must be at least {least}, not {value}')
    check_device(args.device)
    if args.config and args.image_size:
        raise UserError('--image-size is for --images; the images of --config are prepared as the config says')


def check_device(name: str) -> None:
    try:
        torch.empty(0, device=name)
    except (RuntimeError, AssertionError) as error:
        raise UserError(f'--device {name} cannot be used on this machine; use cpu or another') from error


def check_feature(name: str, options: dict[str, Any]) -> None:
    known = {field.name: field.type for field in fields(feature)} if is_dataclass(feature := MODELS.get(name)) else {}
    for option, value in options.items():
        if not isinstance(value, known.get(option, ())):
            takes = ' and '.join(f'{key} ({kind.__name__})' for key, kind in known.items()) or 'none'
            raise UserError(f'--feature-options {option}={value}: {name} takes {takes}; correct it')


def pretraining_config(pretrained: PretrainedBackbone, path: str | None) -> Config:
    """The config that says what the backbone is and how its images are normalised."""
    config = read_config(path) if path else pretrained.config
    if config is None or backbone_config(config) is None:
        place = path or f'the checkpoint {pretrained.source}'
        raise UserError(f'{place} says nothing about a backbone; name the config it belongs to by --backbone-config')
    check_known(backbone_config(config), path or pretrained.source)
    return config


def preprocessor_of(config: Config) -> dict[str, Any]:
    found = config.get('data_preprocessor') or config.model.get('data_preprocessor')
    if not found:
        raise UserError('the config of the backbone has no data_preprocessor; name another by --backbone-config')
    return dict(found)


def build_model(pretrained: PretrainedBackbone, config: Config, args: argparse.Namespace) -> BaseModel:
    settings = dict(
        type='FrozenEncoder',
        backbone=backbone_config(config),
        feature=dict(type=args.feature, **args.feature_options),
        data_preprocessor=preprocessor_of(config),
    )
    with told_as_user_error('the backbone of the config'):
        model = MODELS.build(settings)
    load_backbone(model.backbone, pretrained)
    return model.to(args.device)


def read_images(config: Config, args: argparse.Namespace) -> tuple[BaseDataset, Pipeline]:
    if args.config:
        return config_images(read_config(args.config, data_root=args.data_root), args.split)
    pipeline = folder_pipeline(config, args.image_size)
    return folder_images(args.images, pipeline), pipeline


def identity_of(
    args: argparse.Namespace, config: Config, pipeline: Pipeline, dataset: BaseDataset, names: list[str]
) -> dict[str, Any]:
    """Everything that decides the features."""
    return dict(
        checkpoint=sha256_of(local_file(args.checkpoint)),
        backbone=backbone_config(config),
        encoder=args.encoder,
        feature=dict(type=args.feature, **args.feature_options),
        preprocessing=dict(pipeline=pipeline, data_preprocessor=preprocessor_of(config)),
        source=str(Path(args.images).resolve()) if args.images else f'{args.config} ({args.split})',
        content=content_digest(dataset, names),
        device=torch.device(args.device).type,
    )


def extract(args: argparse.Namespace) -> None:
    check_feature(args.feature, args.feature_options)
    if args.allow_pickle:
        allow_pickle()
    pretrained = read_pretrained(args.checkpoint, args.encoder)
    config = pretraining_config(pretrained, args.backbone_config)
    model = build_model(pretrained, config, args)
    dataset, pipeline = read_images(config, args)
    names = names_of(dataset)
    identity = identity_of(args, config, pipeline, dataset, names)
    packed = args.out.endswith('.npz')
    if packed and Path(args.out).exists():
        check_packed(args.out, identity)
        print(f'{args.out} is complete already')
        return
    details = dict(
        checkpoint_file=args.checkpoint,
        versions=dict(mixcl=__version__, torch=torch.__version__, mmengine=mmengine.__version__),
    )
    folder = f'{args.out}.unfinished' if packed else args.out
    files = FeatureFiles(folder, identity, names, labels_of(dataset), details)
    extract_to_files(files, model, ReadableImages(dataset), args.batch_size, args.workers, args.save_every)
    files.finish()
    if packed:
        files.pack(args.out)
    print(f'{args.out}: features of {len(names)} images, {len(files.unreadable)} of them unreadable')


def main() -> None:
    args = parse_arguments()
    check_arguments(args)
    with DefaultScope.overwrite_default_scope('mixcl'):
        extract(args)


if __name__ == '__main__':
    with reported_to_user():
        try:
            main()
        except KeyboardInterrupt:
            print('\ninterrupted: the same command continues with what is not done', file=sys.stderr)
            sys.exit(130)
