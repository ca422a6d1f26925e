"""Objectives: one loss per query row; and the negatives that they contrast against."""

from mixcl.losses.base import Negatives, Objective
from mixcl.losses.cross_correlation import CrossCorrelation
from mixcl.losses.dino import DINODistillation
from mixcl.losses.info_nce import InfoNCE, LogMixture
from mixcl.losses.negative_cosine import NegativeCosine
from mixcl.losses.negatives import HardMix, Keys, NegativesContext, NegativesSource, Queue, Rows
from mixcl.losses.similarity import Similarity
from mixcl.losses.swav import SwAV
