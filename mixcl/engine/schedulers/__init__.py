"""Schedules of the learning rate, as functions of the step."""

from mixcl.engine.schedulers.cosine import CutWarmupCosineLR, MoCoV3CosineLR, TimmCosineLR, WarmupCosineLR
