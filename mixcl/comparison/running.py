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
from mixcl.comparison.measures import BASELINES, FROZEN, MEASURES, Answers, features, measured, pixels, values
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

NETWORK = 'network.py'
"""File in the folder of a comparison: the config of the first run, of which the random network is made."""
CLOCK = 'seconds.json'
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

    def failed(self, job_name: str, reason: str | None = None) -> str | None:
        """Note for all processes of a comparison why a run failed, or return what is noted."""
        path = self.results / f'{job_name}.failed'
        if reason is not None:
            path.write_text(reason)
        return path.read_text() if path.is_file() else None

    def forget_failures(self) -> None:
        """Let runs that failed be tried again."""
        for path in self.results.glob('*.failed'):
            path.unlink()

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
        planned([name for name in table.measures if name != 'robustness'], table.images, subject, roots=table.roots)
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
        """What decides the result; that of a baseline is the images and the network of the first run."""
        table = self.table
        run = next(iter(table.runs.values())) if self.run is None else self.run
        file = run.path.read_text() if run.config.endswith('.py') else ''
        kept = asdict(run) | (dict(epochs=None) if self.run is None else {})
        measured = dict(measures=[*table.measures], evaluated=table.images, data_root=table.data_root)
        return kept | measured | dict(file=zlib.crc32(file.encode()))

    @property
    def folder(self) -> Path:
        return self.state.runs / f'{slug(self.name)}-{self.seed}'

    @property
    def title(self) -> str:
        return self.name if self.run is None else f'{self.name}, seed {self.seed}'

    def is_left(self) -> bool:
        """Whether it is neither done nor failed."""
        return self.result() is None and self.state.failed(self.folder.name) is None

    def result(self) -> Result | None:
        return self.state.read(self.name, self.seed, self.settings)

    def perform(self) -> Result:
        """Train, unless it is a baseline, and measure. RunStopped: the run is saved, and continues later."""
        clock, begun = self.folder / CLOCK, time.monotonic()
        facts: dict[str, Any] = dict(versions=dict(mixcl=mixcl.__version__, torch=torch.__version__))
        checkpoint = RANDOM
        if self.run is not None:
            self._claim_folder()
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

    def _claim_folder(self) -> None:
        """Note what the run in the folder is; raise UserError if it is another."""
        self.folder.mkdir(exist_ok=True)
        note, settings = self.folder / 'settings.json', json.loads(json.dumps(self.settings))
        own = {name: settings[name] for name in settings if name not in ('measures', 'evaluated')}
        stored = json.loads(note.read_text()) if note.exists() else own
        if stored != own:
            changed = ', '.join(f'{name} was {stored.get(name)!r}' for name in own if stored.get(name) != own[name])
            raise UserError(f'{self.folder} holds a run of other settings ({changed}): choose another `out`')
        note.write_text(json.dumps(own))

    def measured(self, checkpoint: str) -> tuple[Answers, dict[str, float]]:
        """Take the measures of a checkpoint, of a random network, or of pixels."""
        table = self.table
        subject = read_subject(checkpoint, str(self.state.folder / NETWORK) if checkpoint == RANDOM else None)
        cfg = planned(['knn'], table.images, subject, roots=table.roots)[0].cfg
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
    begun, done_here = time.monotonic(), 0
    while left := [job for job in jobs if job.is_left()]:
        progressed = False
        for job in left:
            with job.state.taken(job.name, job.seed) as ours:
                if not ours or not job.is_left():
                    continue
                try:
                    job.perform()
                except Exception as error:  # must not keep the others from being done
                    reason = str(error) if isinstance(error, UserError) else fault_sentence(error)
                    tell(f'{job.title} failed: {job.state.failed(job.folder.name, reason)}')
            progressed, done_here = True, done_here + 1
            remaining = sum(other.is_left() for other in jobs)
            until = datetime.now() + timedelta(seconds=(time.monotonic() - begun) / done_here * remaining)
            tell(f'{job.title}: {len(jobs) - remaining} of {len(jobs)} done, the rest until about {until:%d %b %H:%M}')
        if not progressed:  # others work on what is left
            time.sleep(LOOK_AGAIN)
    reasons = {job.title: job.state.failed(job.folder.name) for job in jobs}
    return {title: reason for title, reason in reasons.items() if reason is not None}
