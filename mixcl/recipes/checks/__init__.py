"""Checks of a config, before anything expensive is built."""
