"""A config that was checked cannot be changed afterwards, neither by its readers nor by parts that are built of it."""

import copy
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest
from engine.tiny_runs import run_config
from mmengine.config import Config
from torch import nn

from mixcl.engine.runners.launch import build_runner
from mixcl.recipes.prepared import Options, prepared, prepared_to_test, prepared_to_train
from mixcl.recipes.read_only import read_only
from mixcl.registry import DATASETS, MODELS, build
from mixcl.visualization.mix_preview import mixture_figure
from mixcl.visualization.pictured import read_pictured

DIGITS = 'patchmix/vit-xs4_digits'
WRITERS: dict[str, Callable[[Config], object]] = {
    'set': lambda cfg: setattr(cfg, 'work_dir', 'x'),
    'set below': lambda cfg: setattr(cfg.model.backbone, 'patch_size', 2),
    'set in a list': lambda cfg: cfg.custom_hooks[0].update(priority=1),
    'merge': lambda cfg: cfg.merge_from_dict({'model.backbone.patch_size': 2}),
    'update': lambda cfg: cfg.update(work_dir='x'),
    'pop': lambda cfg: cfg.pop('compile', None),
    'setdefault': lambda cfg: cfg.model.setdefault('views', {}),
    'delete': lambda cfg: cfg.model.__delitem__('neck'),
    'delete by name': lambda cfg: delattr(cfg.model, 'terms'),
    'or': lambda cfg: cfg.model.__ior__(dict(neck=None)),
    'clear': lambda cfg: cfg.model.clear(),
}


def test_every_way_of_writing_is_refused() -> None:
    asked = Options(compile=True, amp=True, resume='auto')
    for cfg in (prepared(DIGITS), prepared_to_train(DIGITS, asked), prepared_to_test(DIGITS, 'some.pth', Options())):
        before = copy.deepcopy(cfg).to_dict()
        for name, write in WRITERS.items():
            with pytest.raises(TypeError, match=r'read-only, since it has been checked: change copy\.deepcopy'):
                write(cfg)
            assert cfg.to_dict() == before, name
        for again in (copy.deepcopy(cfg), cfg.copy(), pickle.loads(pickle.dumps(cfg))):
            assert again.to_dict() == before and again.pretty_text == cfg.pretty_text
        changed = copy.deepcopy(cfg)
        for write in WRITERS.values():
            write(changed)
        assert changed.work_dir == 'x' and cfg.to_dict() == before


def test_a_config_is_launched_twice_with_its_switches(tmp_path: Path) -> None:
    cfg = read_only(run_config(tmp_path, activation_checkpointing=['backbone.layers']))
    for _ in range(2):
        runner = build_runner(cfg)
        layer: nn.Module = runner.model.backbone.layers[0]
        assert 'forward' in vars(layer) and 'activation_checkpointing' not in runner.cfg
        runner.hooks[-1].after_run(runner)  # the lock of its folder
    assert cfg.activation_checkpointing == ['backbone.layers']


def test_figures_and_parts_are_made_of_it(tmp_path: Path) -> None:
    cfg = prepared('mae/vit-xs4_digits')
    build(MODELS, dict(cfg.model, data_preprocessor=cfg.data_preprocessor))  # mmpretrain's MAE writes into the latter
    build(DATASETS, cfg.train_dataloader.dataset)
    mixture_figure(prepared(DIGITS))
    pictured = read_pictured(DIGITS, source=f'folder:{tmp_path}')
    assert pictured.training.val_dataloader is None and pictured.config.val_dataloader
