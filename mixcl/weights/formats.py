"""Format of a file of weights, by the names in it: who wrote the file, and where its encoders are."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from torch import Tensor

from mixcl.weights.layouts import layout_of, without_wrapper

ENCODERS = ('online', 'target')


@dataclass(frozen=True)
class Format:
    """A way in which encoders are kept in a file.

    Attributes:
        name: who writes such files.
        online, target: prefixes of the weights of an encoder's backbone; the target is the momentum encoder or teacher.
        marker: start of a name that only such files have.
    """

    name: str
    online: str
    target: str | None = None
    marker: str = ''


FORMATS = (
    Format('mixcl', 'backbone.', 'target.backbone.', 'target.backbone.'),
    Format('mmpretrain', 'backbone.', 'momentum_encoder.module.0.', 'momentum_encoder.module.0.'),
    Format('mmpretrain', 'backbone.', 'target_net.module.0.', 'target_net.module.0.'),
    Format('solo-learn', 'backbone.', 'momentum_backbone.', 'momentum_backbone.'),
    Format('lightly', 'backbone.', 'backbone_momentum.', 'backbone_momentum.'),
    Format('lightly', 'student_backbone.', 'teacher_backbone.'),
    Format('mixcl', 'backbone.backbone.'),  # a classifier over FrozenFeatures
    Format('mixcl or mmpretrain', 'backbone.'),
    Format('DINO', 'student.backbone.', 'teacher.backbone.'),
    Format('APS', 'base_encoder.', 'momentum_encoder.', 'base_encoder.pos_embedding'),
    Format('MoCo v3, PatchMix or SDMP', 'base_encoder.', 'momentum_encoder.'),
    Format('OpenSelfSup', 'encoder_q.0.', 'encoder_k.0.'),
    Format('OpenSelfSup', 'online_net.0.', 'target_net.0.'),
    Format('MoCo or MixCo', 'encoder_q.', 'encoder_k.'),
    Format('SimSiam', 'encoder.', marker='encoder.layer1.'),
    Format("MixCo's SimCLR", 'features.', marker='features.4.0.conv1.'),
    Format('timm or torchvision', 'last.', 'ema.'),
)
"""Known formats; the first that fits counts. Files of no known format hold one backbone under its own names."""

ALONE = dict(
    mmpretrain='mmpretrain', timm='timm', torchvision='torchvision', huggingface='Hugging Face', aps='APS',
    sequential='torchvision',
)  # fmt: skip
"""Writers of a backbone alone, by its :func:`~mixcl.weights.layouts.layout_of`."""


def format_of(weights: Mapping[str, Tensor]) -> Format:
    """Return the format of the weights of a file."""
    for kind in FORMATS:
        starts = kind.marker or (kind.online, kind.target or kind.online)
        if any(name.startswith(starts) for name in weights):
            return kind
    plain, _ = without_wrapper(weights)
    is_resnet = 'layer1.0.conv1.weight' in plain
    return Format('torchvision or timm' if is_resnet else ALONE.get(layout_of(plain) or '', 'unknown'), '')


def parts_of(names: Iterable[str]) -> list[str]:
    """List the parts that tensors belong to, by how their names begin.

    >>> parts_of(['head.0.weight', 'head.0.bias', 'queue'])
    ['head (2)', 'queue (1)']
    """
    return [f'{part} ({count})' for part, count in Counter(name.partition('.')[0] for name in names).items()]
