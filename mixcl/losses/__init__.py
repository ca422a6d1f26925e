"""Objectives: one loss per query row."""

from mixcl.losses.base import Objective
from mixcl.losses.info_nce import InfoNCE
