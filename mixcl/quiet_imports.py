"""Imports that print to the terminal, done once without the print."""

import contextlib
import io

with contextlib.redirect_stdout(io.StringIO()):
    import mmpretrain.datasets  # noqa: F401  (tells everyone that an optional package is missing)
