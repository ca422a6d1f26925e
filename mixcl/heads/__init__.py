"""Projection and prediction heads."""

from mixcl.heads.mlp import MLPHead
