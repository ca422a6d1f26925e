"""Backbones that mmpretrain lacks, and backbones of other libraries by name."""

import mixcl.quiet_imports
from mixcl.backbones.contrastive_vit import APSViT, ContrastiveViT, DINOViT
from mixcl.backbones.imported_backbone import ImportedBackbone
from mixcl.backbones.timm_backbone import TimmBackbone
from mixcl.backbones.torchvision_backbone import TorchvisionBackbone
