"""The work of a comparison: every run with every seed is trained, measured and stored, by one process or several."""

import fcntl
import json
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import torch
from mmengine.config import Config

import mixcl
from mixcl.apis.evaluating import evaluate
from mixcl.apis.learnt_hook import reading
from mixcl.apis.training import run as train
from mixcl.comparison.measures import BASELINES, MEASURES, Answers, features, measured, pixels, values
from mixcl.comparison.table import UNLABELLED, Run, Table
from mixcl.distributed import unwrapped
from mixcl.engine.runners.data_workers import kill_workers
from mixcl.engine.runners.quiet_runner import QuietRunner
from mixcl.engine.runners.work_dir import checkpoints_in
from mixcl.errors import UserError
from mixcl.evaluation.functional.paired_difference import packed, unpacked
from mixcl.faults import fault_sentence
from mixcl.files import written_whole
from mixcl.quiet_log import tell
from mixcl.recipes.building import build_model
from mixcl.recipes.evaluations.plan import planned
from mixcl.recipes.length import Fit
from mixcl.recipes.paths import preprocessors_of
from mixcl.recipes.prepared import Options, prepared_to_train
from mixcl.recipes.reading import read_config
from mixcl.recipes.subject import read_subject
from mixcl.registry import DATASETS, build
from mixcl.weights import RANDOM, checkpoint_in

LOOK_AGAIN = 5
"""Seconds after which a process with nothing to do looks again."""


@dataclass(frozen=True)
class Result:
    """What one run with one seed, or one baseline, has shown.

    Attributes:
        name, seed: which one; a baseline has seed 0.
        settings: what it was asked for; a result of other settings does not count.
        answers: see :data:`~mixcl.comparison.measures.Answers`.
        accuracies: in percent, of protocols that say nothing about single images; readings of images without labels.
        facts: seconds, steps, passes per image and versions.
    """

    name: str
    seed: int
    settings: dict[str, Any]
    answers: Answers
    accuracies: dict[str, float]
    facts: dict[str, Any]

    def values(self, measure: str) -> np.ndarray:
        """Return (draws, images) in [0, 1], (1, 1) if only an accuracy is known, (0, 0) if the measure is missing."""
        if measure in self.accuracies:
            return np.full((1, 1), self.accuracies[measure] / 100)
        return values(self.answers, measure)

    def accuracy(self, measure: str) -> float | None:
        """Return the accuracy in percent, or None."""
        rows = self.values(measure)
        return 100 * float(rows.mean()) if rows.size else None


class State:
    """Progress in a folder: ``results/NAME-SEED.json`` of what is finished, ``runs/NAME-SEED`` of all runs."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.results, self.runs = folder, folder / 'results', folder / 'runs'
        for place in (self.results, self.runs):
            place.mkdir(parents=True, exist_ok=True)

    def read(self, name: str, seed: int, settings: Mapping[str, Any]) -> Result | None:
        """Return a stored result of these settings; None if there is none, or its file is damaged."""
        try:
            stored = json.loads((self.results / f'{slug(name)}-{seed}.json').read_text())
            answers = {measure: unpacked(right) for measure, right in stored.pop('answers').items()}
            found = Result(answers=answers, **stored)
        except (OSError, ValueError, TypeError, LookupError, AttributeError, zlib.error):
            return None
        return found if found.settings == json.loads(json.dumps(settings)) else None

    def write(self, result: Result) -> None:
        """Store a result."""
        stored = asdict(result) | dict(answers={name: packed(right) for name, right in result.answers.items()})
        with written_whole(self.results / f'{slug(result.name)}-{result.seed}.json') as file:
            file.write(f'{json.dumps(stored)}\n'.encode())

    @contextmanager
    def taken(self, name: str, seed: int) -> Iterator[bool]:
        """Lock a run; yield False if another process has it."""
        with (self.runs / f'{slug(name)}-{seed}.lock').open('w') as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
            else:
                yield True


def slug(name: str) -> str:
    """Return a name for files."""
    plain = ''.join(letter if letter.isalnum() or letter in '.-=' else '_' for letter in name)
    return plain if len(plain) < 80 and plain == name else f'{plain[:80]}-{zlib.crc32(name.encode()):08x}'


def config_for(run: Run, table: Table, seed: int, folder: Path) -> tuple[Config, Options]:
    """Return the config of a training run, and its options."""
    config = read_config(run.path)
    batch = run.batch_size or (None if run.data else config.get('batch'))
    epochs = run.epochs or (None if run.data else config.schedule.epochs)
    own = run.data is None and (epochs, batch) == (config.schedule.epochs, config.get('batch'))
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

    Raises:
        UserError: for a config or data that cannot work.
    """
    configs = {name: config_for(run, table, 0, state.runs / 'unused')[0] for name, run in table.runs.items()}
    first = next(iter(table.runs))
    if not (table.evaluated or configs[first].get('val_dataloader')):
        table = replace(table, measures=UNLABELLED, named=UNLABELLED[0], baselines=())
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
    run = Table(runs=dict(timed=table.runs[name])).with_epochs(dict(timed=1)).runs['timed']
    begun = time.monotonic()
    train(*config_for(run, table, 0, state.runs / f'{slug(name)}-timing'))
    kill_workers()
    return time.monotonic() - begun


@dataclass(frozen=True)
class Job:
    """One run with one seed, or one baseline, in its folder."""

    name: str
    seed: int
    run: Run | None
    table: Table
    state: State

    @property
    def settings(self) -> dict[str, Any]:
        """What decides the result."""
        of_run = {} if self.run is None else asdict(self.run)
        return of_run | dict(measures=[*self.table.measures], evaluated=self.table.images)

    @property
    def folder(self) -> Path:
        return self.state.runs / f'{slug(self.name)}-{self.seed}'

    def result(self) -> Result | None:
        return self.state.read(self.name, self.seed, self.settings)

    def perform(self) -> Result:
        """Train, unless it is a baseline, and measure. RunStopped: the run is saved, and continues later."""
        clock, begun = self.folder / 'seconds.json', time.monotonic()
        facts: dict[str, Any] = dict(versions=dict(mixcl=mixcl.__version__, torch=torch.__version__))
        checkpoint = RANDOM
        if self.run is not None:
            self.folder.mkdir(exist_ok=True)
            before = float(clock.read_text()) if clock.exists() else 0.0
            try:
                runner = train(*config_for(self.run, self.table, self.seed, self.folder))
            finally:
                kill_workers()
                clock.write_text(json.dumps(before + time.monotonic() - begun))
            model = unwrapped(runner.model)
            passes = model.passes_per_image() if hasattr(model, 'passes_per_image') else None
            facts |= dict(seconds=float(clock.read_text()), steps=runner.max_iters, passes=passes)
            facts |= dict(settings=runner.cfg.get('recipe', {}))
            checkpoint = checkpoint_in(str(self.folder))
        learnt = reading(runner, model)._asdict() if self.run is not None and not self.table.labelled else None
        answers, accuracies = self.measured(checkpoint) if learnt is None else ({}, learnt)
        result = Result(self.name, self.seed, self.settings, answers, accuracies, facts)
        self.state.write(result)
        return result

    def measured(self, checkpoint: str) -> tuple[Answers, dict[str, float]]:
        """Take the measures of a checkpoint, of a random network, or of pixels."""
        table = self.table
        first = next(iter(table.runs.values()))
        config = None if checkpoint != RANDOM else str(first.path)
        subject = read_subject(checkpoint, config)
        roots = {} if table.data_root is None else {table.images: table.data_root}
        cfg = planned(['knn'], table.images, subject, roots=roots)[0].cfg
        loaders = [
            QuietRunner.build_dataloader(dict(part, dataset=build(DATASETS, part['dataset'])), seed=0)
            for part in (cfg.test_cfg.bank_dataloader, cfg.test_dataloader)
        ]
        if self.name in BASELINES:
            images = BASELINES[self.name](pixels(loaders, preprocessors_of(cfg)[0]))
            return ({} if images is None else measured(images, table.measures)), {}
        encoder = subject.encoder()
        encoder.to('cuda' if torch.cuda.is_available() else 'cpu')
        answers = measured(features(loaders, encoder), table.measures)
        others = [measure for measure in table.measures if measure not in MEASURES]
        if not others or checkpoint == RANDOM:
            return answers, {}
        found = evaluate(
            checkpoint, table.images, others, encoder=subject.side(), work_dir=str(self.folder / 'evaluation'),
            data_root=table.data_root or (),
        )  # fmt: skip
        if found.failures:
            raise UserError('; '.join(found.failures))
        return answers, {row['protocol']['name']: next(iter(row['metrics'].values())) for row in found.rows}


def jobs_of(table: Table, state: State) -> list[Job]:
    """List what is to be done: baselines, then all runs with the first seed, then with the next."""
    baselines = [Job(name, 0, None, table, state) for name in table.baselines]
    return baselines + [
        Job(name, seed, run, table, state) for seed in range(table.seeds) for name, run in table.runs.items()
    ]


def work(jobs: list[Job]) -> dict[str, str]:
    """Do what is not done yet, and what no other process does; return why which failed."""
    failed: dict[str, str] = {}
    begun, done_here = time.monotonic(), 0
    while left := [job for job in jobs if job.result() is None and f'{job.name}, seed {job.seed}' not in failed]:
        progressed = False
        for job in left:
            title = f'{job.name}, seed {job.seed}'
            with job.state.taken(job.name, job.seed) as ours:
                if not ours or job.result() is not None:
                    continue
                try:
                    job.perform()
                except Exception as error:  # must not keep the others from being done
                    failed[title] = str(error) if isinstance(error, UserError) else fault_sentence(error)
                    tell(f'{title} failed: {failed[title]}')
            progressed, done_here = True, done_here + 1
            remaining = sum(job.result() is None for job in jobs) - len(failed)
            each = (time.monotonic() - begun) / done_here
            until = datetime.now() + timedelta(seconds=each * remaining)
            tell(f'{title}: {len(jobs) - remaining} of {len(jobs)} done, the rest until about {until:%d %b %H:%M}')
        if not progressed:  # others work on what is left
            time.sleep(LOOK_AGAIN)
    return failed
