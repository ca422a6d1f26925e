"""Mixers: images of a batch in, mixed images and their composition out."""

from mixcl.mixers.base import Mixer
from mixcl.mixers.choice import Choice
from mixcl.mixers.cutmix import CutMix
from mixcl.mixers.mixup import Mixup
from mixcl.mixers.pair import PairMixer, PairPlan, pair_composition, pick_pairs
from mixcl.mixers.pairings import derangement, flip, halves, permutation
from mixcl.mixers.patchmix import PatchMix
from mixcl.mixers.region_swap import RegionSwap
from mixcl.mixers.resizemix import OriginalResizeMix, ResizeMix
from mixcl.mixers.shares import Beta, Uniform
