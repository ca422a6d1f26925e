"""Mixers: images of a batch in, mixed images and their composition out."""

from mixcl.mixers.base import Mixer
from mixcl.mixers.choice import Choice
from mixcl.mixers.cutmix import CutMix
from mixcl.mixers.mixmask import MixMask
from mixcl.mixers.mixup import Mixup
from mixcl.mixers.pair import PairMixer, PairPlan, Pairs, pair_composition, pick_pairs
from mixcl.mixers.pairings import derangement, flip, halves, permutation, same
from mixcl.mixers.patchmix import PatchMix
from mixcl.mixers.region_swap import RegionSwap
from mixcl.mixers.resizemix import OriginalResizeMix, ResizeMix
from mixcl.mixers.scalemix import ScaleMix
from mixcl.mixers.shares import Beta, Uniform
from mixcl.mixers.stitch import Stitch
