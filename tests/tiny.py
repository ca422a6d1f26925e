"""A learner small enough for tests."""

import hosts

from mixcl.algorithms import ContrastiveLearner

PATCHMIX_TERMS = [('view1', 'view2', 1.0), ('mix2', 'view1', 0.5), ('mix2', 'mix1', 0.5)]


def model_config(**changes) -> dict:
    """Return PatchMix on a two-block ViT of width 16 for 8x8 images with 2x2 patches."""
    patchmix = dict(
        target=dict(type='EMA', momentum=0.9),
        objective=dict(type='InfoNCE', temperature=0.2),
        terms=PATCHMIX_TERMS,
        swap_views=0.0,
    )
    return hosts.moco_v3(hosts.MIXERS['patchmix']) | patchmix | changes


def build(**changes) -> ContrastiveLearner:
    return hosts.build(model_config(**changes))
