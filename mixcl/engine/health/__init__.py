"""Hooks that keep a run healthy: failures of numbers, collapse and stagnation, speed."""

from mixcl.engine.health.deferred_log import DeferredInfoHook
from mixcl.engine.health.health_hook import HealthHook
from mixcl.engine.health.nonfinite import NonFiniteHook
from mixcl.engine.health.throughput import ThroughputHook
