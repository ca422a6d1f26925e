"""The commands of ``mixcl``, a module each: its options, and the call of what they are for.

A module ``NAME`` has ``add_options(parser)`` and ``run(args)``, and may have ``AFTERWARDS``, what the user can do when
it was interrupted or failed. ``run`` imports what takes seconds: options are read, and refused, before. Its line in the
help of ``mixcl`` is in :data:`mixcl.console.COMMANDS`.
"""
