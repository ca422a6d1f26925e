"""The config of a run: read from its file, changed by options, checked. Nothing writes into it afterwards."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from mmengine.config import Config

from mixcl.distributed import process_count
from mixcl.errors import UserError
from mixcl.recipes.checking import check_config
from mixcl.recipes.data_roots import check_metric_files, set_data_root
from mixcl.recipes.length import Fit, fit_to, use_recipe_of
from mixcl.recipes.making import has_facts, made
from mixcl.recipes.named_backbone import use_backbone
from mixcl.recipes.options import (
    facts_and_sections,
    number_of_images,
    override_facts,
    use_background,
    use_cache,
    use_data,
    use_data_root,
    use_image_size,
)
from mixcl.recipes.overrides import merge, override
from mixcl.recipes.read_only import read_only
from mixcl.recipes.reading import import_modules, read_config
from mixcl.recipes.run_options import (
    choose_tested,
    lengthen_process_timeout,
    limit_time,
    measure_in_bfloat16,
    use_launcher,
    use_mixed_precision,
    use_name,
    use_pretrained,
)
from mixcl.recipes.smoke import shrink_to_smoke
from mixcl.shipped import default_work_dir

OF_FACTS = ('data', 'backbone', 'image_size', 'fit', 'smoke', 'cache', 'background', 'lr')
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
    asked = Options(cfg_options=cfg_options, data_root=data_root, smoke=smoke, amp=amp)
    return _prepared(config, asked, _with_precision, processes)


def prepared_to_train(config: str | Path, asked: Options) -> Config:
    """Return the config of a training run, with all options.

    Raises:
        UserError: same as :func:`prepared`, and if the config trains nothing.
    """
    return _prepared(config, asked, partial(_to_train, config))


def prepared_to_test(config: str | Path, checkpoint: str | None, asked: Options) -> Config:
    """Return the config of a test of a checkpoint, or of the backbone in ``pretrained``.

    Raises:
        UserError: same as :func:`prepared`, and if the config tests nothing or the weights are not what it tests.
    """
    return _prepared(config, asked, partial(_to_test, config, checkpoint))


def _prepared(
    config: str | Path, asked: Options, of_run: Callable[[Options, Config], None], processes: int | None = None
) -> Config:
    """Read a config, change its facts, make the sections, override these, apply the options of the run, check it all.

    The options of the run come after the overrides, since they add to what these may replace: hooks, for example.
    """
    cfg = read_config(config)
    if not asked.labels and not asked.data:
        raise UserError('`labels` is about images of your own: leave it out, or name some by `data`')
    if has_facts(cfg):
        cfg = _made(cfg, asked, processes or process_count(asked.launcher))
    else:
        cfg = _with_sections(cfg, asked)
    use_name(cfg, asked.name, asked.data)
    of_run(asked, cfg)
    with naming_facts('recipe' in cfg):
        check_config(cfg)
    return read_only(cfg)


def _with_precision(asked: Options, cfg: Config) -> None:
    if asked.amp:
        use_mixed_precision(cfg)


def _to_train(config: str | Path, asked: Options, cfg: Config) -> None:
    """Apply the options of a training run, in place."""
    if cfg.get('train_cfg') is None:
        raise UserError(
            f'{config} trains nothing (it has no train_cfg): use mixcl test {config} --pretrained CHECKPOINT'
        )
    # A smoke run leaves the folder of the run alone.
    named = None if asked.smoke and 'work_dir' not in (asked.cfg_options or {}) else cfg.get('work_dir')
    cfg.work_dir = asked.work_dir or named or default_work_dir(config, '_smoke' if asked.smoke else '')
    _with_precision(asked, cfg)
    if asked.max_time:
        limit_time(cfg, asked.max_time)
    if asked.compile:
        cfg.compile = cfg.get('compile') or True
    if asked.auto_scale_lr:
        if not cfg.get('auto_scale_lr'):
            raise UserError(
                '`auto_scale_lr` is for configs with auto_scale_lr=dict(base_batch_size=...): leave it out, since the '
                'rate of a recipe follows its batch'
            )
        cfg.auto_scale_lr.enable = True
    if asked.no_validate:
        cfg.val_cfg = cfg.val_dataloader = cfg.val_evaluator = None
    if asked.resume:
        cfg.resume = True
        cfg.load_from = None if asked.resume == 'auto' else asked.resume
    if asked.pretrained:
        use_pretrained(cfg, asked.pretrained, asked.encoder)
    elif asked.encoder:
        raise UserError(
            f'`encoder={asked.encoder}` chooses an encoder of the checkpoint that `pretrained` names; give it'
        )
    use_launcher(cfg, asked.launcher)
    check_metric_files(cfg, 'val_evaluator')


def _to_test(config: str | Path, checkpoint: str | None, asked: Options, cfg: Config) -> None:
    """Apply the options of a test, in place."""
    if cfg.get('test_cfg') is None:
        raise UserError(f'{config} has no test_cfg: its data set has no labels to evaluate with')
    cfg.work_dir = asked.work_dir or cfg.get('work_dir') or default_work_dir(config)
    # A run that trains would lock its work dir.
    cfg.update(dict.fromkeys(('train_cfg', 'train_dataloader', 'optim_wrapper', 'param_scheduler')))
    choose_tested(cfg, checkpoint, asked.pretrained, asked.encoder)
    if asked.amp:
        measure_in_bfloat16(cfg)
    lengthen_process_timeout(cfg)
    use_launcher(cfg, asked.launcher)
    check_metric_files(cfg, 'test_evaluator')


@contextmanager
def naming_facts(is_recipe: bool) -> Iterator[None]:
    """Let a message about sections that follow from facts name the facts."""
    try:
        yield
    except UserError as error:
        if not is_recipe:
            raise
        text = re.sub(r'param_scheduler\[\d\]', 'schedule', str(error).replace('optim_wrapper.optimizer', 'optimizer'))
        raise UserError(text) from error


def _made(cfg: Config, asked: Options, processes: int) -> Config:
    """Change the facts of a recipe by options, and make its sections."""
    for name in OF_FACTS if 'protocol' in cfg else ():
        if getattr(asked, name) not in (None, False):
            raise UserError(
                f'`{name}` is for pretraining; mixcl evaluate composes evaluations such as {cfg.config_name}'
            )
    if 'protocol' in cfg and 'data' not in cfg:
        raise UserError(
            f'{cfg.config_name} is a recipe of an evaluation: mixcl evaluate adds data set and backbone (--dry-run)'
        )
    if asked.image_size is not None and asked.smoke:
        raise UserError(f'`smoke` has an image size of its own; leave out `image_size={asked.image_size}`')
    facts, sections = facts_and_sections(asked.cfg_options or {})
    early = {key: sections.pop(key) for key in [*sections] if key.startswith(('custom_imports', 'custom_hooks'))}
    merge(cfg, early)  # parts are built, and hooks of the method added, while sections are made
    import_modules(cfg)
    override_facts(cfg, facts if not asked.fit else {})  # as if the file said so
    intended, found = cfg.get('batch'), None
    if asked.fit and asked.backbone:
        use_recipe_of(cfg, asked.backbone)
    if asked.data:
        found = use_data(cfg, asked.data, asked.data_root, asked.labels)
        override_facts(cfg, {key: value for key, value in facts.items() if key.startswith('data.')})
    elif asked.data_root:
        use_data_root(cfg, asked.data_root)
    if asked.backbone:
        use_backbone(cfg, asked.backbone, asked.image_size)
    elif asked.image_size is not None:
        use_image_size(cfg, asked.image_size)
    if asked.fit:
        fit_to(cfg, number_of_images(cfg), asked.fit)
        override_facts(cfg, facts)
    if asked.smoke:
        shrink_to_smoke(cfg, processes)
    if asked.cache:
        use_cache(cfg, asked.cache, asked.cache_size)
    if asked.background:
        use_background(cfg, asked.background)
    result = made(cfg, processes)
    if asked.lr is not None:
        result.optim_wrapper.optimizer.lr = asked.lr
    override(result, sections)
    result.recipe_batch = intended  # a run fitted to few images has another
    if found:
        result.found_images = found
    return result


def _with_sections(cfg: Config, asked: Options) -> Config:
    """Apply options to a config that says no facts, of which little is known."""
    if {'schedule', 'optimizer'} <= cfg.keys():
        raise UserError(
            f'{cfg.config_name} says facts, but inherits no data: add one of mixcl::_base_/data/ to its _base_, or '
            'facts = 1'
        )
    for name in OF_FACTS:
        if getattr(asked, name) not in (None, False):
            raise UserError(
                f'`{name}` changes the facts of a recipe, but {cfg.config_name} has sections only: change these, or '
                "let it inherit from a recipe of mixcl, such as _base_ = 'mixcl::patchmix/vit-s16_in1k.py'"
            )
    override(cfg, asked.cfg_options or {})
    import_modules(cfg)
    if asked.data_root:
        set_data_root(cfg, asked.data_root)
    return cfg
