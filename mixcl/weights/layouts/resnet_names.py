"""Names of a ResNet's weights: torchvision's, which mmpretrain and timm share (left), and those of other libraries.

``*`` is the number of a block in its stage.
"""

STAGES = range(4)
CONVOLUTIONS = range(3)

HUGGING_FACE = (
    ('conv1', 'embedder.embedder.convolution'),
    ('bn1', 'embedder.embedder.normalization'),
    *(
        (f'layer{stage + 1}.*.{own}{number + 1}', f'encoder.stages.{stage}.layers.*.layer.{number}.{other}')
        for stage in STAGES
        for number in CONVOLUTIONS
        for own, other in (('conv', 'convolution'), ('bn', 'normalization'))
    ),
    *(
        (f'layer{stage + 1}.*.downsample.{number}', f'encoder.stages.{stage}.layers.*.shortcut.{other}')
        for stage in STAGES
        for number, other in enumerate(('convolution', 'normalization'))
    ),
)
"""transformers' ``ResNetModel``."""

STEM_AND_STAGES = ('conv1', 'bn1', *(f'layer{stage + 1}' for stage in STAGES))

TORCHVISION = tuple((part, part) for part in STEM_AND_STAGES)
"""torchvision's, timm's and mmpretrain's ``ResNet``."""

SEQUENTIAL = tuple(zip(STEM_AND_STAGES, ('0', '1', '4', '5', '6', '7'), strict=True))
"""torchvision's ResNet as an ``nn.Sequential`` of its children: MixCo's SimCLR (``features.``)."""
