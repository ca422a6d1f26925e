"""The table of terms: which query stream is pulled to which key stream, and how strongly."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from mixcl.errors import UserError
from mixcl.losses import Objective


@dataclass(frozen=True)
class Term:
    """One row of the table: ``(query stream, key stream, weight, options)``.

    Attributes:
        query: name of the stream whose rows are pulled.
        key: name of the stream that they are pulled to.
        weight: factor of this term in the total loss.
        options: keywords for the objective in this row, for example ``dict(smoothing=0.1)``.
    """

    query: str
    key: str
    weight: float
    options: dict = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name in the log. It contains 'loss', or mmengine would not train it."""
        return f'loss_{self.query}_{self.key}'


def parse_terms(rows: Iterable[Sequence], streams: Sequence[str], objective: Objective) -> list[Term]:
    """Read the rows of a config.

    Args:
        rows: tuples ``(query, key, weight)`` or ``(query, key, weight, dict of options)``.
        streams: names that may be used.
        objective: knows which options a row may carry and their ranges.

    Raises:
        UserError: for a row of another form, an unknown stream or option, or a pair listed twice.
    """
    terms = []
    for position, row in enumerate(rows):
        term = _parse_row(f'model.terms[{position}]', row)
        for stream in (term.query, term.key):
            if stream not in streams:
                raise UserError(
                    f'model.terms[{position}] names an unknown stream {stream!r}; known streams: {", ".join(streams)}'
                )
        for option in term.options:
            if option not in objective.options:
                raise UserError(
                    f'model.terms[{position}] has an unknown option {option!r}; {type(objective).__name__} knows '
                    f'{", ".join(objective.options) or "none"}'
                )
        objective.check_options(**term.options)
        if any(term.name == other.name for other in terms):
            raise UserError(
                f'model.terms[{position}] repeats the pair ({term.query}, {term.key}); add the weights in one row'
            )
        terms.append(term)
    if not terms:
        raise UserError('model.terms is empty: nothing would be trained')
    return terms


def _parse_row(place: str, row: Sequence) -> Term:
    match row:
        case [str(query), str(key), int() | float() as weight]:
            return Term(query, key, float(weight))
        case [str(query), str(key), int() | float() as weight, dict(options)]:
            return Term(query, key, float(weight), dict(options))
    raise UserError(
        f'{place}={row!r} is not a row of the table of terms; write (query stream, key stream, weight) or '
        '(query stream, key stream, weight, dict(option=value))'
    )
