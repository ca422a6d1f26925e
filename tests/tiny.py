"""A learner small enough for tests."""

from mixcl.algorithms import ContrastiveLearner
from mixcl.registry import MODELS

PATCHMIX_TERMS = [('view1', 'view2', 1.0), ('mix2', 'view1', 0.5), ('mix2', 'mix1', 0.5)]


def model_config(**changes) -> dict:
    """PatchMix on a two-block ViT of width 16 for 8x8 images with 2x2 patches."""
    return {
        **dict(
            type='ContrastiveLearner',
            backbone=dict(
                type='ContrastiveViT',
                arch=dict(embed_dims=16, num_layers=2, num_heads=2, feedforward_channels=32),
                img_size=8,
                patch_size=2,
            ),
            neck=dict(type='MLPHead', in_channels=16, hidden_channels=24, out_channels=12, num_layers=3),
            predictor=dict(type='MLPHead', in_channels=12, hidden_channels=24, out_channels=12),
            target=dict(type='EMA', momentum=0.9),
            objective=dict(type='InfoNCE', temperature=0.2),
            mixer=dict(type='PatchMix', num_mix=3, patch_size=2),
            streams=dict(mix1=dict(mix='view1'), mix2=dict(mix='view2')),
            terms=PATCHMIX_TERMS,
        ),
        **changes,
    }


def build(**changes) -> ContrastiveLearner:
    model = MODELS.build(model_config(**changes))
    model.init_weights()
    return model
