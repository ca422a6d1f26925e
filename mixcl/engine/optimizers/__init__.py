"""Optimisers, their parameter groups, and wrappers around them."""

from mixcl.engine.optimizers.lars import LARS, MoCoLARS
from mixcl.engine.optimizers.layer_decay import LayerDecayConstructor, TimmLayerDecayConstructor
from mixcl.engine.optimizers.muon import Muon
from mixcl.engine.optimizers.wrappers import BFloat16OptimWrapper, FewGroupsConstructor
