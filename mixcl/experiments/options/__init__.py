"""Options of a run, each a function of its config."""
