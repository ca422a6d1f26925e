"""Checks of a config before anything is built: unknown keys, wrong values, overrides without effect, missing files."""

from mixcl.configuration.building import built_from
from mixcl.configuration.check import check_config
from mixcl.configuration.data_roots import check_data_roots, check_files, check_metric_files, set_data_root
from mixcl.configuration.overrides import check_overrides
from mixcl.configuration.values import schedule_notes
