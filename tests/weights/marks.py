"""A module that must not be run."""

import sys
from pathlib import Path

import pytest


def marker(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a module ``evil`` with a function ``run`` where Python looks for modules.

    Returns:
        a file that the module makes when it is imported.
    """
    ran, modules = folder / 'ran', folder / 'modules'
    (modules / 'evil').mkdir(parents=True)
    (modules / 'evil/__init__.py').write_text(f'open({str(ran)!r}, "w")\ndef run(*_, **__): pass\n')
    monkeypatch.syspath_prepend(modules)
    monkeypatch.delitem(sys.modules, 'evil', raising=False)
    return ran
