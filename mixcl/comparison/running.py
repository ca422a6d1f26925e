"""The work of a comparison: every run with every seed is trained, measured and stored, by one process or several."""

import json
import time
import zlib
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import torch

import mixcl
from mixcl.apis.evaluating import evaluate
from mixcl.apis.learnt_hook import reading
from mixcl.apis.training import run as train
from mixcl.comparison.fine_tuning import few_finetuned
from mixcl.comparison.lengths import CLOCK, NETWORK, config_for
from mixcl.comparison.measures import (
    BASELINES,
    MEASURES,
    SCRATCH,
    TUNED,
    Answers,
    features,
    measured,
    pixels,
    protocol_of,
)
from mixcl.comparison.state import Result, State, slug
from mixcl.comparison.table import Run, Table
from mixcl.distributed import unwrapped
from mixcl.engine.runners.data_workers import kill_workers
from mixcl.engine.runners.quiet_runner import QuietRunner
from mixcl.errors import UserError
from mixcl.faults import fault_sentence
from mixcl.quiet_log import tell
from mixcl.recipes.evaluations.plan import planned
from mixcl.recipes.paths import preprocessors_of
from mixcl.recipes.subject import Subject, read_subject
from mixcl.registry import DATASETS, build
from mixcl.weights import RANDOM, checkpoint_in

LOOK_AGAIN = 5
"""Seconds after which a process with nothing to do looks again."""


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
        files = [Path(name) for name in (run.config, run.data or '', table.images) if name.endswith('.py')]
        file = ''.join(path.read_text() for path in files if path.is_file())
        kept = asdict(run) | (dict(epochs=None) if self.run is None else {})
        del kept['seeds']
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
        answers: Answers = {}
        accuracies: dict[str, float] = {}
        config = str(self.state.folder / NETWORK) if checkpoint == RANDOM else None
        folder = self.state.folder / RANDOM if self.run is None else self.folder  # runs/ has runs alone
        subject = read_subject(checkpoint, config)
        for data, measures in self.table.by_data.items():
            answers |= self._answers(data, measures, subject)
            others = {protocol_of(name): name for name in measures if protocol_of(name) not in (*MEASURES, TUNED)}
            if others and self.table.labelled and (self.run is not None or self.name == RANDOM):
                found = evaluate(
                    checkpoint, data, [*others], config=config, encoder=subject.side(),
                    work_dir=str(folder / 'evaluation'), data_root=self.table.data_root or (),
                )  # fmt: skip
                if found.failures:
                    raise UserError('; '.join(found.failures))
                of_protocol = {row['protocol']['name']: next(iter(row['metrics'].values())) for row in found.rows}
                accuracies |= {others[name]: value for name, value in of_protocol.items()}
        return answers, accuracies

    def _answers(self, data: str, measures: list[str], subject: Subject) -> Answers:
        """Take the measures of features on a data set, or of what a baseline has in their place."""
        if not any(protocol_of(name) in (*MEASURES, TUNED) for name in measures):
            return {}
        cfg = planned(['knn'], data, subject, roots=self.table.roots(data))[0].cfg
        loaders = [
            QuietRunner.build_dataloader(dict(part, dataset=build(DATASETS, part['dataset'])), seed=0)
            for part in (cfg.test_cfg.bank_dataloader, cfg.test_dataloader)
        ]
        if self.name in BASELINES:
            images = BASELINES[self.name](pixels(loaders, preprocessors_of(cfg)[0]))
            return {} if images is None else measured(images, measures)
        encoder = subject.encoder()
        encoder.to('cuda' if torch.cuda.is_available() else 'cpu')
        images = features(loaders, encoder)
        # Trained from scratch is the random network fine-tuned.
        fine_tuned = {RANDOM: (), SCRATCH: ('few_labels', TUNED)}.get(self.name, (TUNED,))
        names = [name for name in measures if protocol_of(name) in fine_tuned]
        found = few_finetuned(encoder, loaders, images, self.seed) if names else {}
        answers = measured(images, measures) if self.name != SCRATCH else {}
        return answers | {part.replace(TUNED, name, 1): right for name in names for part, right in found.items()}


def jobs_of(table: Table, state: State) -> list[Job]:
    """List what is to be done: baselines, then all runs with the first seed, then with the next."""
    baselines = [Job(name, 0, None, table, state) for name in table.baselines]
    return baselines + [
        Job(name, seed, run, table, state)
        for seed in range(max([table.seeds, *(run.seeds or 0 for run in table.runs.values())]))
        for name, run in table.runs.items()
        if seed < (run.seeds or table.seeds)
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
