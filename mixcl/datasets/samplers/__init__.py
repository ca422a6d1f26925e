"""Samplers that give every image its key."""

from mixcl.datasets.samplers.keyed import KeyedSampler
