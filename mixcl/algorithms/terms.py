"""The table of terms: which query stream is pulled to which key stream, and how strongly."""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from mixcl.composition import Composition, SoftTarget
from mixcl.encoders.stream import Level, RowsOf
from mixcl.errors import UserError
from mixcl.losses import Objective
from mixcl.ranges import POSITIVE


@dataclass(frozen=True)
class Term:
    """One row of the table: ``(query stream, key stream, weight, options)``.

    Attributes:
        query: name of the stream whose rows are pulled.
        key: name of the stream that the query rows are pulled to.
        weight: factor of this term in the total loss.
        options: keywords for the objective in this row, for example ``dict(smoothing=0.1)``.
        target: rule for the target: 'overlap' of the compositions; 'owner', each row counts as its owner alone; 'even',
            each row counts as all images that it lists, in equal shares.
        negatives: names or configs of extra negatives.
        to: 'keys'; or 'mixture', a mixture of the keys of what the query's pixels come from, whose owners are the keys.
        level: what is compared, 'image' or 'patch', see :class:`~mixcl.algorithms.patches.PatchLevel`.
    """

    query: str
    key: str
    weight: float
    options: dict = field(default_factory=dict)
    target: str = 'overlap'
    negatives: Sequence = ()
    level: Level = 'image'
    to: str = 'keys'

    @property
    def name(self) -> str:
        """Name in the log. It contains 'loss', or mmengine would not train it."""
        return f'loss_{self.query}_{self.key}' + ('_patch' if self.level == 'patch' else '')

    @property
    def rows(self) -> tuple[RowsOf, RowsOf]:
        """Which rows are the queries, and which the keys."""
        return RowsOf(self.query, self.level), RowsOf(self.key, self.level)

    def soft_target(self, query: Composition, key: Composition, start: int) -> SoftTarget:
        """Compute the target of the query rows over the key rows by this term's rule."""
        rule = TARGETS[self.target]
        return rule(query).target(rule(key), start)


TARGETS: dict[str, Callable[[Composition], Composition]] = dict(
    overlap=lambda composition: composition, owner=Composition.owned, even=Composition.even
)
"""Rules for what the rows of both streams count as, by the value of the option ``target``."""


OWN_OPTIONS = ('target', 'negatives', 'level', 'to')
"""Options of a row that do not go to its objective."""


def parse_terms(
    rows: Iterable[Sequence],
    streams: Sequence[str],
    objectives: Mapping[Level, Objective],
    mixtures: Container[str] = (),
) -> list[Term]:
    """Read the rows of a config.

    Args:
        rows: tuples ``(query, key, weight)`` or ``(query, key, weight, dict of options)``.
        streams: names that may be used.
        objectives: objectives by level; they decide the options of a row and their ranges.
        mixtures: names of the mixed streams whose rows may have ``to='mixture'``.

    Raises:
        UserError: for a row of another form, an unknown stream or option, or a pair listed twice.
    """
    terms: list[Term] = []
    for position, row in enumerate(rows):
        term = _parse_row(f'model.terms[{position}]', row, objectives)
        for stream in (term.query, term.key):
            if stream not in streams:
                raise UserError(
                    f'model.terms[{position}] names an unknown stream {stream!r}; known streams: {", ".join(streams)}'
                )
        _check_row_options(f'model.terms[{position}]', term, objectives[term.level])
        _check_mixture(f'model.terms[{position}]', term, objectives[term.level], mixtures)
        if any(term.name == other.name for other in terms):
            raise UserError(
                f'model.terms[{position}] repeats the pair ({term.query}, {term.key}), which has one row with one set '
                'of options; add the weights there'
            )
        terms.append(term)
    if not terms:
        raise UserError('model.terms is empty: nothing would be trained')
    return terms


def _parse_row(place: str, row: Sequence, objectives: Mapping[Level, Objective]) -> Term:
    match row:
        case [str(query), str(key), int() | float() as weight]:
            return Term(query, key, weight, negatives=objectives['image'].negatives)
        case [str(query), str(key), int() | float() as weight, dict(options)]:
            rest = {name: value for name, value in options.items() if name not in OWN_OPTIONS}
            named = {name: value for name, value in options.items() if name in OWN_OPTIONS}
            level = named.get('level', 'image')
            if level not in ('image', 'patch'):
                raise UserError(f'{place}: level must be image or patch, not {level!r}')
            if level not in objectives:
                raise UserError(
                    f"{place} has level='patch', but model.patches is missing; say there how patches are compared, for "
                    'example patches=dict(tokens=16)'
                )
            implied = dict(target='owner') if named.get('to') == 'mixture' else {}
            return Term(query, key, weight, rest, **dict(negatives=objectives[level].negatives) | implied | named)
    raise UserError(
        f'{place}={row!r} is not a row of the table of terms; write (query stream, key stream, weight) or '
        '(query stream, key stream, weight, dict(option=value))'
    )


def _check_row_options(place: str, term: Term, objective: Objective) -> None:
    for option in term.options:
        if option not in objective.options:
            raise UserError(
                f'{place} has an unknown option {option!r}; {type(objective).__name__} knows '
                f'{", ".join((*objective.options, *OWN_OPTIONS))}'
            )
    if not POSITIVE.holds(term.weight):
        raise UserError(f'{place} has weight {term.weight!r}; it must be above 0 (delete a row to leave it out)')
    if term.target not in TARGETS:
        raise UserError(f'{place}: target must be one of {", ".join(TARGETS)}, not {term.target!r}')
    try:
        objective.check_row(bool(term.negatives), **term.options)
    except UserError as error:
        raise UserError(f'{place}: {error}') from None


def _check_mixture(place: str, term: Term, objective: Objective, mixtures: Container[str]) -> None:
    if term.to not in ('keys', 'mixture'):
        raise UserError(f"{place}: to must be 'keys' or 'mixture', not {term.to!r}")
    if term.to == 'mixture' and (not objective.takes_mixture or term.query not in mixtures or term.level != 'image'):
        raise UserError(
            f"{place} has to='mixture', which is for mixed streams of views with one crop, compared as images by "
            f'an objective that takes it, CrossCorrelation; here {term.query} is compared by '
            f'{type(objective).__name__}; leave it out'
        )
    if term.to == 'mixture' and term.target != 'owner':
        raise UserError(f"{place} has to='mixture', whose keys are the owners'; leave out target={term.target!r}")
