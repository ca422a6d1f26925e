"""Frozen backbones, the features that protocols take from them, and heads on these features."""

from mixcl.evaluation.models.frozen_features import FrozenFeatures
from mixcl.evaluation.models.map_features import PooledGrid, PooledStages
from mixcl.evaluation.models.segmenter import Segmenter, TokenClassifier
from mixcl.evaluation.models.stage_probes import StageProbes
from mixcl.evaluation.models.token_features import ClassTokenAndAverage, LastClassTokens
