"""The commands of ``mixcl``, one module each: its options, and the call that does its work.

A module ``NAME`` has ``add_options(parser)`` and ``run(args)``. It may have ``AFTERWARDS``: what the user can do after
an interruption or a failure. Slow imports are in ``run``, so that options are read, and refused, before. The command's
line in the help of ``mixcl`` is in :data:`mixcl.console.COMMANDS`.
"""
