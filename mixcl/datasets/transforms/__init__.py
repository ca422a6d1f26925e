"""Transforms that read images and make views of them."""

from mixcl.datasets.transforms.channels import LoadChannels
from mixcl.datasets.transforms.crops import RecordedResizedCrop
from mixcl.datasets.transforms.masks import LoadMask, MaskedCrop
from mixcl.datasets.transforms.sampled_patches import SampledPatchPair
from mixcl.datasets.transforms.views import ColourNoise, KeyedMultiView, LoadImage, RandomErasing, RGBToBGR
