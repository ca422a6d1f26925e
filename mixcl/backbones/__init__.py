"""Backbones that mmpretrain and timm lack, and features of frozen ones."""

from mixcl.backbones.contrastive_vit import ContrastiveViT
from mixcl.backbones.features import Feature, Output, RandomHead
from mixcl.backbones.frozen import FrozenFeatures
from mixcl.backbones.map_features import PooledGrid, PooledStages
from mixcl.backbones.timm_vit import TIMMViT
from mixcl.backbones.token_features import ClassTokenAndAverage, LastClassTokens
