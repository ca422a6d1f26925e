"""Hooks that watch a run's health: non-finite numbers, collapse and stagnation, speed."""

from mixcl.engine.hooks.health.health_hook import HealthHook
from mixcl.engine.hooks.health.nonfinite import NonFiniteHook
from mixcl.engine.hooks.health.step_log import DeferredInfoHook
from mixcl.engine.hooks.health.throughput import ThroughputHook
