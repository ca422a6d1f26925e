"""Features of a folder of images, or of a config's data set, from the backbone in a checkpoint.

``python tools/extract_features.py CHECKPOINT --images FOLDER --out features``
``python tools/extract_features.py CHECKPOINT --config CONFIG --split test --out features``

The folder gets a ``features_00000.npz`` for each 10,000 images, with features, file names and labels, and a
``meta.json``; :func:`mixcl.evaluation.feature_files.read_features` reads them. The same command continues where it was
interrupted.
"""

import argparse
from pathlib import Path
from typing import Any

import torch
from mmengine.config import Config
from mmengine.dataset import BaseDataset
from mmengine.model import BaseModel
from mmengine.registry import DefaultScope

from mixcl.configuration import OverrideAction
from mixcl.datasets import ImageFolder
from mixcl.engine.runners.dry_run import told_as_user_error
from mixcl.engine.runners.launch import read_config
from mixcl.errors import UserError, reported_to_user
from mixcl.evaluation.feature_files import extract_to_files, open_folder
from mixcl.evaluation.image_sources import Pipeline, config_images, content_digest, folder_pipeline
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
    images.add_argument('--images', metavar='FOLDER', help='a folder of images, however deep')
    images.add_argument('--config', help='a config whose data set is taken, prepared as the config tests')
    parser.add_argument('--split', choices=['train', 'test'], default='test', help='which images of --config')
    parser.add_argument('--data-root', metavar='DIR', help='root folder of the data set of --config')
    parser.add_argument('--out', required=True, type=Path, metavar='FOLDER', help='where the features go')
    parser.add_argument('--encoder', choices=ENCODERS, default='online', help='which encoder of the checkpoint')
    parser.add_argument('--feature', choices=FEATURES, default='Output', help='see mixcl.evaluation.models')
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
    parser.add_argument(
        '--images-per-file', type=int, default=10_000, metavar='N', help='an interruption loses less than one file'
    )
    parser.add_argument('--device', default='cuda' if torch.cuda.is_available() else 'cpu')
    return parser.parse_args()


def check_arguments(args: argparse.Namespace) -> None:
    for name, least in dict(batch_size=1, workers=0, images_per_file=1, image_size=1).items():
        value = getattr(args, name)
        if value is not None and value < least:
            raise UserError(f'--{name.replace("_", "-")} must be at least {least}, not {value}')
    if args.config and args.image_size:
        raise UserError('--image-size is for --images; the images of --config are prepared as the config says')
    try:
        torch.empty(0, device=args.device)
    except (RuntimeError, AssertionError) as error:
        raise UserError(f'--device {args.device} cannot be used on this machine; use cpu or another') from error


def model_settings(pretrained: PretrainedBackbone, config: Config | None, args: argparse.Namespace) -> dict[str, Any]:
    """The config of the encoder: the backbone, its feature, and how its images are normalised."""
    place = args.backbone_config or f'the checkpoint {pretrained.source}'
    backbone = config and backbone_config(config)
    if backbone is None:
        raise UserError(f'{place} says nothing about a backbone; name the config it belongs to by --backbone-config')
    check_known(backbone, place)
    preprocessor = config.get('data_preprocessor') or config.model.get('data_preprocessor')
    if not preprocessor:
        raise UserError(f'{place} has no data_preprocessor; name another config by --backbone-config')
    feature = dict(type=args.feature, **args.feature_options)
    return dict(type='FrozenEncoder', backbone=backbone, feature=feature, data_preprocessor=dict(preprocessor))


def build_model(settings: dict[str, Any], pretrained: PretrainedBackbone, device: str) -> BaseModel:
    with told_as_user_error('the backbone with this feature'):
        model = MODELS.build(settings)
    load_backbone(model.backbone, pretrained)
    return model.to(device)


def read_images(config: Config, args: argparse.Namespace) -> tuple[BaseDataset, Pipeline]:
    if args.config:
        return config_images(read_config(args.config, data_root=args.data_root), args.split)
    pipeline = folder_pipeline(config, args.image_size)
    return ImageFolder(args.images, pipeline=pipeline, test_mode=True), pipeline


def extract(args: argparse.Namespace) -> None:
    if args.allow_pickle:
        allow_pickle()
    pretrained = read_pretrained(args.checkpoint, args.encoder)
    config = read_config(args.backbone_config) if args.backbone_config else pretrained.config
    settings = model_settings(pretrained, config, args)
    model = build_model(settings, pretrained, args.device)
    dataset, pipeline = read_images(config, args)
    identity = dict(
        checkpoint=sha256_of(local_file(args.checkpoint)),
        encoder=args.encoder,
        backbone=settings['backbone'],
        feature=settings['feature'],
        preprocessing=dict(pipeline=pipeline, data_preprocessor=settings['data_preprocessor']),
        source=str(Path(args.images).resolve()) if args.images else f'{args.config} ({args.split})',
        content=content_digest(dataset),
        images_per_file=args.images_per_file,
        device=torch.device(args.device).type,
    )
    open_folder(args.out, identity)
    unreadable = extract_to_files(args.out, model, dataset, args.images_per_file, args.batch_size, args.workers)
    print(f'{args.out}: features of {len(dataset)} images, {unreadable} of them unreadable')


def main() -> None:
    args = parse_arguments()
    check_arguments(args)
    with DefaultScope.overwrite_default_scope('mixcl'):
        extract(args)


if __name__ == '__main__':
    with reported_to_user('the same command continues with the files that are missing'):
        main()
