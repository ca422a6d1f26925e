"""Projection and prediction heads."""

from mixcl.heads.dino import DINOHead
from mixcl.heads.mlp import MLPHead, PlainHead
from mixcl.heads.pooled_output import PooledOutput
from mixcl.heads.stage_probes import StageProbes
