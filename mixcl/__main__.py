"""``python -m mixcl`` is the command ``mixcl``."""

from mixcl.console import main

main()
