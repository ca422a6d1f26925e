"""The config of every run of a comparison, and how long each is trained so that all have as much."""

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from mmengine.config import Config

from mixcl.apis.training import run as train
from mixcl.comparison.measures import FROZEN, protocol_of
from mixcl.comparison.state import State, slug
from mixcl.comparison.table import UNLABELLED, Run, Table
from mixcl.engine.runners.data_workers import kill_workers
from mixcl.engine.runners.work_dir import checkpoints_in
from mixcl.files import written_whole
from mixcl.recipes.building import build_model
from mixcl.recipes.evaluations.plan import planned
from mixcl.recipes.length import Fit
from mixcl.recipes.prepared import Options, prepared_to_train
from mixcl.recipes.reading import is_data_set, read_config
from mixcl.recipes.recipe_table import PROTOCOLS
from mixcl.recipes.subject import read_subject
from mixcl.registry import DATASETS, build
from mixcl.weights import RANDOM

NETWORK = 'network.py'
"""File in the folder of a comparison: the config of the first run, of which the random network is made."""
CLOCK = 'seconds.json'
"""File in the folder of a run: its seconds of training so far."""


def config_for(run: Run, table: Table, seed: int, folder: Path) -> tuple[Config, Options]:
    """Return the config of a training run, and its options."""
    config = read_config(run.path)
    fits = run.source is not None and not is_data_set(run.source)  # to images of which no config knows
    batch = run.batch_size or (None if fits else config.get('batch'))
    epochs = run.epochs or (None if fits else config.schedule.epochs)
    own = not fits and (epochs, batch) == (config.schedule.epochs, config.get('batch'))
    options = Options(
        work_dir=str(folder),
        resume='auto' if checkpoints_in(folder) else None,
        data=run.source,
        data_root=table.data_root,
        backbone=run.model,
        image_size=run.image_size,
        lr=run.lr,
        fit=None if own else Fit(epochs, batch),
        amp=torch.cuda.is_available(),
        cfg_options={'randomness.seed': seed, **run.options},
    )
    return prepared_to_train(run.path, options), options


def with_lengths(table: Table, state: State) -> Table:
    """Give every run its number of epochs, so that all have equally many steps or passes, or equally much time.

    The config of the first run is written to ``network.py``, for the random network.

    Raises:
        UserError: for a config, data or measures that cannot work.
    """
    configs = {name: config_for(run, table, 0, state.runs / 'unused')[0] for name, run in table.runs.items()}
    first = next(iter(table.runs))
    if not (table.evaluated or configs[first].get('val_dataloader')) and tuple(table.measures) == FROZEN:
        table = replace(table, measures=UNLABELLED, named=UNLABELLED[0], baselines=())
    with written_whole(state.folder / NETWORK) as file:  # other processes read it
        file.write(configs[first].pretty_text.encode())
    if table.labelled:
        subject = read_subject(RANDOM, str(state.folder / NETWORK))
        for data, measures in table.by_data.items():
            protocols = {protocol_of(name) for name in measures} & {*PROTOCOLS} - {'robustness'}
            planned(sorted(protocols) or ['knn'], data, subject, roots=table.roots(data))
    epochs = {name: cfg.train_cfg.max_epochs for name, cfg in configs.items()}
    if table.equal != 'epochs':
        costs = {name: _cost_of_epoch(name, cfg, table, state) for name, cfg in configs.items()}
        wanted = epochs[first] * costs[first]
        epochs = {name: max(1, round(wanted / cost)) for name, cost in costs.items()}
    return table.with_epochs(epochs)


def _cost_of_epoch(name: str, cfg: Config, table: Table, state: State) -> float:
    """Return steps, passes of images, or seconds of an epoch."""
    images = len(build(DATASETS, cfg.train_dataloader.dataset))
    if table.equal == 'steps':
        return images // (cfg.train_dataloader.batch_size * cfg.optim_wrapper.get('accumulative_counts', 1))
    if table.equal == 'passes':
        model: Any = build_model(cfg)
        return images * sum(model.passes_per_image())
    folder = state.runs / f'{slug(name)}-timing'
    if not (folder / CLOCK).exists():
        begun = time.monotonic()
        train(*config_for(replace(table.runs[name], epochs=1), table, 0, folder))
        kill_workers()
        (folder / CLOCK).write_text(json.dumps(time.monotonic() - begun))
    return float((folder / CLOCK).read_text())
