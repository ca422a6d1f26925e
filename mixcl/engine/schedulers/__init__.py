"""Schedules of learning rate and weight decay, as functions of the step."""

from mixcl.engine.schedulers.timm_cosine import TimmCosineLR
from mixcl.engine.schedulers.warmup_cosine import CutWarmupCosineLR, WarmupCosineLR
