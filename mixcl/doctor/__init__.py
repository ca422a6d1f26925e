"""Looks at an installation: what is there, what is missing, what it is for, and the command that helps.

``python -m mixcl.doctor``
"""

from typing import NamedTuple

OK, NOTE, FAULT = 'ok', 'note', 'FAULT'


class Finding(NamedTuple):
    """One line of the report.

    Attributes:
        state: 'ok'; 'note', if something is missing that only some need; 'FAULT', if pretraining cannot work.
        subject: what it is about.
        sentence: what was seen, and if something is missing, what it is for and the command that helps.
    """

    state: str
    subject: str
    sentence: str
