"""Checks of a config before anything is built: unknown keys, overrides without effect, missing data."""

from mixcl.configuration.check import check_config
from mixcl.configuration.data_roots import check_data_roots, set_data_root
from mixcl.configuration.overrides import check_overrides
