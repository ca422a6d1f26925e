"""Backbones that mmpretrain and timm lack."""

from mixcl.backbones.contrastive_vit import ContrastiveViT
from mixcl.backbones.timm_vit import TIMMViT
