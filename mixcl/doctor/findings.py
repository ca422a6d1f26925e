"""What the doctor says of one thing."""

from typing import NamedTuple

OK, NOTE, FAULT = 'ok', 'note', 'FAULT'


class Finding(NamedTuple):
    """One line of the report.

    Attributes:
        state: 'ok'; 'note', if something that only an extra needs is missing; 'FAULT', if pretraining cannot work.
        subject: what it is about.
        sentence: what was seen, and if something is missing, what for and the command that helps.
    """

    state: str
    subject: str
    sentence: str
