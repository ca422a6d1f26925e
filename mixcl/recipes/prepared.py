"""The config of a run: read from its file, changed by options, checked. Nothing writes into it afterwards."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from mmengine.config import Config

from mixcl.distributed import process_count
from mixcl.errors import UserError
from mixcl.recipes.backbone import use_backbone, use_image_size, use_teacher
from mixcl.recipes.checking import check_config
from mixcl.recipes.data_roots import check_data_roots, check_metric_files
from mixcl.recipes.length import Fit, fit_to, use_recipe_of
from mixcl.recipes.making import made
from mixcl.recipes.overrides import facts_and_sections, merge, override_facts
from mixcl.recipes.own_data import use_background, use_cache, use_data, use_data_root
from mixcl.recipes.paths import kind_of
from mixcl.recipes.read_only import read_only
from mixcl.recipes.reading import has_facts, import_modules, read_config
from mixcl.recipes.run_options import (
    choose_tested,
    lengthen_process_timeout,
    limit_time,
    use_launcher,
    use_mixed_precision,
    use_name,
    use_pretrained,
)
from mixcl.recipes.sections_only import override, set_data_root
from mixcl.recipes.smoke import shrink_to_smoke
from mixcl.registry import DATASETS, build
from mixcl.shipped import default_work_dir

OF_FACTS = ('data', 'backbone', 'image_size', 'fit', 'smoke', 'cache', 'background', 'lr', 'teacher')
"""Options that change facts, which a config of mmengine's sections does not have."""


@dataclass(frozen=True)
class Options:
    """Options by which a run differs from its config: those of ``mixcl train``, whose help explains each."""

    work_dir: str | None = None
    name: str | None = None  # of the run, in figures and tables
    resume: str | None = None  # 'auto' or a checkpoint
    allow_changes: bool = False
    overwrite: bool = False
    pretrained: str | None = None
    encoder: str | None = None
    max_time: str | None = None
    allow_pickle: bool = False
    amp: bool = False
    compile: bool = False
    auto_scale_lr: bool = False
    no_validate: bool = False
    cache: str | None = None
    cache_size: float = 100.0  # GB
    data: str | None = None
    data_root: str | None = None
    labels: bool = True  # of data
    background: tuple[int, int, int] | None = None  # of images with transparency; white
    backbone: str | None = None
    image_size: int | None = None
    teacher: str | None = None
    fit: Fit | None = None  # of mixcl pretrain
    lr: float | None = None  # the highest learning rate, as it is
    smoke: bool = False
    cfg_options: dict[str, Any] | None = None
    launcher: str = 'none'


def prepared(
    config: str | Path,
    *,
    cfg_options: dict[str, Any] | None = None,
    data_root: str | None = None,
    smoke: bool = False,
    amp: bool = False,
    processes: int = 1,
) -> Config:
    """Read a config, and apply those :class:`Options` that commands without training have.

    The result, as that of the other functions here, is read-only: ``copy.deepcopy`` gives one that can be changed.

    Raises:
        UserError: if the config cannot be read, an option cannot be applied, or a key or value is wrong.
    """
    return _prepared(config, Options(cfg_options=cfg_options, data_root=data_root, smoke=smoke, amp=amp), processes)


def prepared_to_train(config: str | Path, options: Options) -> Config:
    """Return the config of a training run, with all options; raises UserError as :func:`prepared` does."""
    return _prepared(config, options, of_run=_to_train)


def prepared_to_test(config: str | Path, checkpoint: str | None, options: Options) -> Config:
    """Return the config of a test of a checkpoint, or of the backbone in ``pretrained``; UserError as above."""
    return _prepared(config, options, of_run=partial(_to_test, checkpoint=checkpoint))


def _prepared(
    config: str | Path, options: Options, processes: int = 0, of_run: Callable[[Config, Options], None] | None = None
) -> Config:
    """Read a config, change its facts, make the sections, override these, apply the options of the run, check it all.

    The options of the run come after the overrides, since they add to what these may replace: hooks, for example.
    """
    cfg = read_config(config)
    if not options.labels and not options.data:
        raise UserError('`labels` is about images of your own: leave it out, or name some by `data`')
    if has_facts(cfg):
        cfg = _made(cfg, options, processes or process_count(options.launcher))
    else:
        _use_sections(cfg, options)
    use_name(cfg, options.name, options.data)
    if of_run:
        cfg.work_dir = _work_dir(config, cfg, options)
        of_run(cfg, options)
    elif options.amp:
        use_mixed_precision(cfg)
    try:
        check_config(cfg)
    except UserError as error:
        if 'recipe' not in cfg:
            raise
        # The message is about sections, which follow from facts.
        text = re.sub(r'param_scheduler\[\d\]', 'schedule', str(error).replace('optim_wrapper.optimizer', 'optimizer'))
        raise UserError(text) from error
    return read_only(cfg)


def _made(cfg: Config, options: Options, processes: int) -> Config:
    """Change the facts of a recipe by options, and make its sections."""
    if 'protocol' in cfg:
        _refuse_options_of_facts(
            options, f'is for pretraining; mixcl evaluate composes evaluations such as {cfg.config_name}'
        )
        if 'data' not in cfg:
            raise UserError(
                f'{cfg.config_name} is a recipe of an evaluation: mixcl evaluate adds data set and backbone (--dry-run)'
            )
    if options.image_size is not None and options.smoke:
        raise UserError(f'`smoke` has an image size of its own; leave out `image_size={options.image_size}`')
    facts, sections = facts_and_sections(options.cfg_options or {})
    early = {key: sections.pop(key) for key in [*sections] if key.startswith(('custom_imports', 'custom_hooks'))}
    merge(cfg, early)  # parts are built, and hooks of the method added, while sections are made
    import_modules(cfg)
    override_facts(cfg, facts if not options.fit else {})  # as if the file said so
    intended, found_images = cfg.get('batch'), None
    if options.fit and options.backbone:
        use_recipe_of(cfg, options.backbone)
    if options.data:
        found_images = use_data(cfg, options.data, options.data_root, options.labels)
        override_facts(cfg, {key: value for key, value in facts.items() if key.startswith('data.')})
    elif options.data_root:
        use_data_root(cfg, options.data_root)
    if options.teacher:
        use_teacher(cfg, options.teacher)
        override_facts(cfg, {key: value for key, value in facts.items() if key.startswith('model.target.')})
    if options.backbone:
        use_backbone(cfg, options.backbone, options.image_size)
    elif options.image_size is not None:
        use_image_size(cfg, options.image_size)
    if options.fit:
        images = {**cfg.data.images, **cfg.data.splits.get('train', {}), 'pipeline': []}
        check_data_roots(Config(dict(train_dataloader=dict(dataset=images))))
        fit_to(cfg, len(build(DATASETS, images)), options.fit)
        override_facts(cfg, facts)
    if options.smoke:
        shrink_to_smoke(cfg, processes)
    if options.cache:
        use_cache(cfg, options.cache, options.cache_size)
    if options.background:
        use_background(cfg, options.background)
    result = made(cfg, processes)
    if options.lr is not None:
        result.optim_wrapper.optimizer.lr = options.lr
    merge(result, sections)
    result.recipe_batch = intended  # a run fitted to few images has another
    if found_images:
        result.found_images = found_images
    return result


def _use_sections(cfg: Config, options: Options) -> None:
    """Apply options to a config that says no facts, of which little is known, in place."""
    if {'schedule', 'optimizer'} <= cfg.keys():
        raise UserError(
            f'{cfg.config_name} says facts, but inherits no data: add one of mixcl::_base_/data/ to its _base_, or '
            'facts = 1'
        )
    _refuse_options_of_facts(
        options,
        f'changes the facts of a recipe, but {cfg.config_name} has sections only: change these, or let it inherit from '
        "a recipe of mixcl, such as _base_ = 'mixcl::patchmix/vit-s16_in1k.py'",
    )
    override(cfg, options.cfg_options or {})
    import_modules(cfg)
    if options.data_root:
        set_data_root(cfg, options.data_root)


def _refuse_options_of_facts(options: Options, reason: str) -> None:
    for name in OF_FACTS:
        if getattr(options, name) not in (None, False):
            raise UserError(f'`{name}` {reason}')


def _work_dir(config: str | Path, cfg: Config, options: Options) -> str:
    """Return the folder of a run. A smoke run leaves that of the run itself alone."""
    named = None if options.smoke and 'work_dir' not in (options.cfg_options or {}) else cfg.get('work_dir')
    return options.work_dir or named or default_work_dir(config, '_smoke' if options.smoke else '')


def _to_train(cfg: Config, options: Options) -> None:
    """Apply the options of a training run, in place."""
    if cfg.get('train_cfg') is None:
        name = cfg.filename
        raise UserError(f'{name} trains nothing (it has no train_cfg): use mixcl test {name} --pretrained CHECKPOINT')
    if options.amp:
        use_mixed_precision(cfg)
    if options.max_time:
        limit_time(cfg, options.max_time)
    if options.compile:
        cfg.compile = cfg.get('compile') or True
    if options.auto_scale_lr:
        if not cfg.get('auto_scale_lr'):
            raise UserError(
                '`auto_scale_lr` is for configs with auto_scale_lr=dict(base_batch_size=...): leave it out, since the '
                'rate of a recipe follows its batch'
            )
        cfg.auto_scale_lr.enable = True
    if options.no_validate:
        cfg.val_cfg = cfg.val_dataloader = cfg.val_evaluator = None
    if options.resume:
        cfg.resume = True
        cfg.load_from = None if options.resume == 'auto' else options.resume
    if options.pretrained:
        use_pretrained(cfg, options.pretrained, options.encoder)
    elif options.encoder:
        raise UserError(
            f'`encoder={options.encoder}` chooses an encoder of the checkpoint that `pretrained` names; give it'
        )
    use_launcher(cfg, options.launcher)
    check_metric_files(cfg, 'val_evaluator')


def _to_test(cfg: Config, options: Options, checkpoint: str | None) -> None:
    """Apply the options of a test, in place."""
    if cfg.get('test_cfg') is None:
        raise UserError(f'{cfg.filename} has no test_cfg: its data set has no labels to evaluate with')
    # A run that trains would lock its work dir.
    cfg.update(dict.fromkeys(('train_cfg', 'train_dataloader', 'optim_wrapper', 'param_scheduler')))
    choose_tested(cfg, checkpoint, options.pretrained, options.encoder)
    if options.amp:
        if kind_of(cfg.test_cfg) != 'FeatureLoop':
            raise UserError(f'`amp` is for configs that measure features; {cfg.config_name} has another test_cfg.type')
        cfg.test_cfg.amp = True
    lengthen_process_timeout(cfg)
    use_launcher(cfg, options.launcher)
    check_metric_files(cfg, 'test_evaluator')
