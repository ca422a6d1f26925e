"""Model and images that figures show: a config or a checkpoint, and its images with their views."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from mmengine.config import Config
from torch import Tensor

from mixcl.datasets import KeyedDataset
from mixcl.errors import UserError
from mixcl.evaluation.view_features import collate_views
from mixcl.recipes.checking import check_config
from mixcl.recipes.data_roots import check_data_roots
from mixcl.recipes.prepared import prepared
from mixcl.recipes.sections_only import override, set_data_root, train_on
from mixcl.recipes.subject import Subject, read_subject
from mixcl.registry import DATASETS, MODELS, build
from mixcl.shipped import name_of
from mixcl.weights import Encoder, backbone_config, checked_run

WEIGHTS = ('.pth', '.pt', '.safetensors', '.bin', '.tar', '.ckpt', '.pkl')


@dataclass(frozen=True)
class Pictured:
    """Model and images of a figure: those of a config, or of a checkpoint and the config in it.

    Attributes:
        config: of the model and its images.
        subject: the checkpoint; None for the untrained model of a config.
        source: images to use in place of the config's, such as 'folder:photos'.
        data_root: of the source.
        seed: of the choice of images, of mixing, and of random weights.
        encoder: 'online' or 'target', of a checkpoint; by default the one that embedding and export use.
        image_size: of the images of the source; by default that of the config's evaluation, or training.
    """

    config: Config
    subject: Subject | None = None
    source: str | None = None
    data_root: str | None = None
    seed: int = 0
    encoder: str | None = None
    image_size: int | None = None

    @property
    def run(self) -> str:
        """Name of the run, for titles."""
        name = name_of(self.config) or 'model'
        epochs = self.subject and self.subject.epochs
        return f'{name}, untrained' if self.subject is None else f'{name}{f" after {epochs} epochs" if epochs else ""}'

    @property
    def side(self) -> str:
        """Name of the encoder that is shown."""
        return 'online' if self.subject is None else self.subject.side(self.encoder)

    @cached_property
    def model(self) -> Encoder:
        """Encoder on the CPU: that of the checkpoint, or a random one.

        Raises:
            UserError: if the config describes none, the checkpoint has no such encoder, or its weights do not fit.
        """
        untrained = Subject(backbone=backbone_config(self.config), named=self.run)
        return replace(self.subject or untrained, config=self.config).encoder(self.encoder, seed=self.seed)

    @property
    def name(self) -> str:
        """Name of the run and its encoder, for titles."""
        return self.run if self.subject is None else f'{self.run}, {self.side} encoder'

    @property
    def training(self) -> Config:
        """Config with the source in place of its training images, whose views stay."""
        if not self.source:
            return self.config
        cfg = copy.deepcopy(self.config)
        cfg.merge_from_dict(dict.fromkeys(('val_dataloader', 'test_dataloader')))
        train_on(cfg, self.source, self.data_root)
        return cfg


def read_pictured(
    name: str,
    config: str | None = None,
    overrides: dict | None = None,
    data_root: str | None = None,
    source: str | None = None,
    smoke: bool = False,
) -> Pictured:
    """Read a config (its file or name) or a checkpoint (its file, or the folder of its run).

    ``config`` replaces the one that a checkpoint carries, ``overrides`` are those of ``--cfg-options``, and ``source``
    is the same as for :func:`~mixcl.recipes.own_data.source_config`.

    Raises:
        UserError: if the file cannot be read, or carries no config and none is given.
    """
    root = None if source else data_root
    if not Path(name).is_dir() and Path(name).suffix not in WEIGHTS and '://' not in name:
        subject, cfg = None, prepared(name, cfg_options=overrides, data_root=root, smoke=smoke)
    elif smoke:
        raise UserError(f'`smoke` shrinks the model of a config, but {name} is a checkpoint: leave it out')
    else:
        subject = read_subject(name, config)
        known = subject.config or Config()
        cfg = copy.deepcopy(known) if config else checked_run(known.to_dict(), subject.checkpoint)
        if overrides:
            override(cfg, overrides)
            check_config(cfg)
        if root is not None:
            set_data_root(cfg, root)
    return Pictured(cfg, subject, source, data_root)


def training_crops(cfg: Config, samples: Sequence[dict]) -> list[Tensor]:
    """Finish every crop of packed training samples as the device does: (B, C, h, w) in [0, 1] each."""
    settings = dict(cfg.get('data_preprocessor') or {}, type='mixcl.ViewPreprocessor', mean=None, std=None)
    return [crop / 255 for crop in build(MODELS, settings)(collate_views(samples))['inputs']]


def spread(images: int, shown: int) -> list[int]:
    """Return indices of the images to show, evenly spaced: files are sorted, so the first ones are all of one class."""
    return [(2 * number + 1) * images // (2 * shown) for number in range(shown)]


def training_set(cfg: Config, least: int) -> KeyedDataset:
    """Build the training set of a config, with its views.

    Raises:
        UserError: if there are none, or fewer than needed.
    """
    if not cfg.get('train_dataloader'):
        raise UserError('the config has no training images, so there are no views or mixtures to show')
    check_data_roots(Config(dict(train_dataloader=cfg.train_dataloader)))
    dataset = build(DATASETS, cfg.train_dataloader.dataset)
    if len(dataset) < least:
        raise UserError(f'the training set has {len(dataset)} images, fewer than the {least} to show')
    return dataset
