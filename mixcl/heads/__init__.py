"""Projection and prediction heads."""

import mixcl.quiet_imports
from mixcl.heads.dino import DINOHead
from mixcl.heads.mlp import MLPHead, PlainHead
from mixcl.heads.sync_batch_norm import SyncBatchNorm
