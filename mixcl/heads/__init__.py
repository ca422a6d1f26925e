"""Projection and prediction heads."""

from mixcl.heads.dino import DINOHead
from mixcl.heads.mlp import MLPHead, PlainHead
