"""Backbones that mmpretrain and timm lack."""

import mixcl.quiet_imports
from mixcl.backbones.contrastive_vit import APSViT, ContrastiveViT, DINOViT
from mixcl.backbones.timm_vit import TIMMViT
