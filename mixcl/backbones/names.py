"""Messages for unknown model names."""

import difflib
from collections.abc import Sequence


def unknown_name(library: str, name: str, known: Sequence[str]) -> str:
    """Return a one-sentence message with the most similar names."""
    near = (
        [other for other in known if other.startswith(name)][:3]
        or difflib.get_close_matches(name, known, n=3)
        or [other for other in known if name in other][:3]
    )
    meant = f'; did you mean {", ".join(near)}?' if near else ''
    return f'{library} has no model {name!r} among its {len(known)}{meant}'
