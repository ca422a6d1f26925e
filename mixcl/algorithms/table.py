"""The table of terms at work: from encoded rows to named losses."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

import torch
from torch import Tensor

from mixcl.algorithms.checks import check_losses, check_names
from mixcl.algorithms.terms import Term, parse_terms
from mixcl.composition import Composition
from mixcl.distributed import gather_rows
from mixcl.encoders.stream import Level, RowsOf, Stream
from mixcl.errors import UserError
from mixcl.losses import Keys, NegativesContext, NegativesSource, Objective, Queue, Rows
from mixcl.losses.info_nce import normalised
from mixcl.randomness import StepKey, generator
from mixcl.registry import NEGATIVES

Value = TypeVar('Value')


class Table:
    """The table of terms, with the objectives, queues and negatives of its rows.

    Args:
        terms: rows of the config.
        objectives: objectives by level.
        memory: queues of the config, by name.
        streams: names of all streams.
        mixed_from: the view that each mixed stream is made of, or both; without streams of several crops, whose rows
            have no ``to='mixture'``.

    Attributes:
        terms: its rows.
        queries, keys: the rows of streams that are queries, and those that are keys, of terms, negatives, queues or
            the centre of an objective.
        first: the first term between images, or else between patches.

    Raises:
        UserError: if a row is not understood, or names a stream, queue or option that there is not.
    """

    def __init__(
        self,
        terms: Sequence[Sequence],
        objectives: Mapping[Level, Objective],
        memory: Mapping[str, dict],
        streams: Sequence[str],
        mixed_from: Mapping[str, Sequence[str]],
    ) -> None:
        self.objectives = objectives
        self.mixed_from = mixed_from
        self.terms = parse_terms(terms, streams, objectives, mixed_from)
        self.queues = build_memory(memory, streams)
        self.sources = {term.name: negatives_of(term, self.queues, streams) for term in self.terms}
        check_queues(self.queues, self.sources, objectives['image'])
        beside = {stream for of_row in self.sources.values() for source in of_row for stream in source.streams}
        beside |= {queue.fed_by for queue in self.queues.values()}
        beside |= set(getattr(objectives['image'], 'centred_by', ()))
        beside |= {view for term in self.terms if term.to == 'mixture' for view in mixed_from[term.query]}
        check_names('model.objective', beside, streams)
        self.queries = {term.rows[0] for term in self.terms}
        self.keys = {term.rows[1] for term in self.terms} | set(map(RowsOf, beside))
        self.first = next((term for term in self.terms if term.level == 'image'), self.terms[0])

    def losses(
        self,
        queries: Mapping[RowsOf, Stream],
        keys: Mapping[RowsOf, Stream],
        predictions: Mapping[RowsOf, Tensor],
        projections: Mapping[RowsOf, Tensor],
        step_key: StepKey,
    ) -> dict[str, Tensor]:
        """Compute the weighted losses of all rows, by name.

        Args:
            queries, keys: the rows, and what they count as.
            predictions: outputs (R, D) of the heads for the queries.
            projections: outputs (n, D) of the heads for the keys of this process.
            step_key: key of the step.
        """
        prepared = {name: self.objectives[name.level].prepare_query(raw) for name, raw in predictions.items()}
        of_keys = self._prepared(keys, projections)
        losses = {}
        for term in self.terms:
            query, key = queries[term.rows[0]], of_keys[term.rows[1]]
            context = NegativesContext(
                queries=prepared[query.rows],
                composition=query.composition,
                keys=key.vectors,
                target=term.soft_target(query.composition, key.composition, key.start),
                streams=of_level('image', of_keys),
                generator=generator(*step_key, term.name),
            )
            negatives = [source(context) for source in self.sources[term.name]]
            objective = self.objectives[term.level]
            mixture = dict(mixture=self._mixture(query, of_keys)) if term.to == 'mixture' else {}
            of_rows = objective(context.queries, context.keys, context.target, negatives, **term.options, **mixture)
            check_losses(of_rows, len(context.queries), objective, term.name)
            # An image without any query patch counts as 0 (the authors' code of iBOT).
            mean = context.target.mean(of_rows) if query.share is None else (of_rows * query.share).sum()
            losses[term.name] = term.weight * mean
        return losses

    def _mixture(self, query: Stream, of_keys: Mapping[RowsOf, Keys]) -> Tensor:
        return mixed_keys(query.composition, [of_keys[RowsOf(view)] for view in self.mixed_from[query.name]])

    def _prepared(self, keys: Mapping[RowsOf, Stream], projections: Mapping[RowsOf, Tensor]) -> dict[RowsOf, Keys]:
        earlier = {queue.fed_by: queue.vectors for queue in self.queues.values()}
        prepared = {}
        for level, objective in self.objectives.items():
            raw = of_level(level, projections)
            for stream, vectors in objective.prepare_keys(raw, earlier if level == 'image' else {}).items():
                name = RowsOf(stream, level)
                composition = keys[name].composition
                prepared[name] = Keys(vectors, composition, objective.key_start(len(composition)))
        return prepared

    def remember(self, projections: Mapping[RowsOf, Tensor]) -> None:
        """Let queues and objectives take the keys of a step, after its losses."""
        for queue in self.queues.values():
            queue.push(gather_rows(normalised(projections[RowsOf(queue.fed_by)].detach())))
        for level, objective in self.objectives.items():
            objective.observe(of_level(level, projections))


def of_level(level: Level, values: Mapping[RowsOf, Value]) -> dict[str, Value]:
    """Return the values of images, or of patches, by stream."""
    return {rows.stream: value for rows, value in values.items() if rows.level == level}


def mixed_keys(composition: Composition, parts: Sequence[Keys]) -> Tensor:
    """Compute (R, D): the keys of the images that each row is made of, weighted by their shares.

    Args:
        composition: of the rows.
        parts: keys of the view that is mixed, which are not gathered; or of two, of the owners and of the partners.
    """
    mixed = []
    for column, source in enumerate(composition.sources.split(1, dim=1)):
        keys, share = parts[min(column, len(parts) - 1)], composition.weights[:, column, None]
        alone = Composition(source, torch.ones_like(share)).target(keys.composition)
        mixed.append(share.to(keys.vectors.dtype) * alone.expect(keys.vectors))
    return torch.stack(mixed).sum(dim=0)


def build_memory(memory: Mapping[str, dict], streams: Sequence[str]) -> dict[str, Queue]:
    """Build the queues of ``model.memory``.

    Raises:
        UserError: if a queue has the name of a stream, or an unknown stream feeds it.
    """
    queues = {name: Queue(**settings) for name, settings in memory.items()}
    for name, queue in queues.items():
        if name in ('own', *streams):
            raise UserError(f'model.memory names a queue {name!r}, which is the name of a stream; choose another name')
        check_names(f'model.memory.{name}.fed_by', [queue.fed_by], streams)
    return queues


def negatives_of(term: Term, queues: Mapping[str, Queue], streams: Sequence[str]) -> list[NegativesSource]:
    """Return the negatives of a row: queues, rows of streams, or sources built from configs.

    Raises:
        UserError: for a name that is neither a queue's nor a stream's.
    """
    sources: list[NegativesSource] = []
    for item in term.negatives:
        name = term.query if item == 'own' else item
        if isinstance(name, dict):
            sources.append(NEGATIVES.build(name))
        elif name in queues:
            sources.append(queues[name])
        elif name in streams:
            sources.append(Rows(name))
        else:
            known = ', '.join(['own', *queues, *streams])
            raise UserError(f'negatives of {term.name} name {name!r}, but there are {known}')
    return sources


def check_queues(
    queues: Mapping[str, Queue], sources: Mapping[str, Sequence[NegativesSource]], objective: Objective
) -> None:
    """Raise UserError for a queue whose keys nothing uses."""
    taken = [source for of_row in sources.values() for source in of_row]
    if type(objective).prepare_keys is Objective.prepare_keys and (
        unused := [n for n in queues if queues[n] not in taken]
    ):
        raise UserError(
            f'model.memory has the queue {unused[0]!r}, but no row of model.terms takes negatives from it: write '
            f'negatives={unused!r} in model.objective, or leave the queue out'
        )
