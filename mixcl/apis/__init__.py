"""Functions for commands, notebooks and other people's code."""
