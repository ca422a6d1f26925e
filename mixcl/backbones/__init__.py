"""Backbones that mmpretrain and timm lack."""

from mixcl.backbones.contrastive_vit import ContrastiveViT
