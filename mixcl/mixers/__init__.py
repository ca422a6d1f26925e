"""Mixers: images of a batch in, mixed images and their composition out."""

from mixcl.mixers.base import Mixer
from mixcl.mixers.identity import Identity
from mixcl.mixers.patchmix import PatchMix
