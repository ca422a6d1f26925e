"""A config from its file to what the Runner gets: read, changed by options, checked. Nothing else writes into it."""
