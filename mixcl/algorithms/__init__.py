"""Streams, terms, and the engine that trains on them."""

import mixcl.quiet_imports
from mixcl.algorithms.contrastive import ContrastiveLearner
from mixcl.algorithms.learner import Learner
from mixcl.algorithms.patch_sampling import PatchSamplingLearner
from mixcl.algorithms.self_supervised import SelfSupervised
from mixcl.algorithms.streams import StreamRecipe
from mixcl.algorithms.terms import Term
from mixcl.encoders.stream import Stream
from mixcl.randomness import StepKey
