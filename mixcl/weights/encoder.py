"""The encoder of a checkpoint as a module."""

from collections.abc import Mapping

from mmengine.model import BaseModel
from torch import Tensor

from mixcl.randomness import seed_global_generators, undisturbed_generators
from mixcl.registry import MODELS, build
from mixcl.weights.preprocess import Preprocess
from mixcl.weights.pretrained import PretrainedBackbone, load_backbone


@MODELS.register_module(name=['Encoder', 'FrozenEncoder'])
class Encoder(BaseModel):
    """A backbone with one feature per image: ``encoder(images)``. :func:`load_encoder` makes one of a checkpoint.

    Configs of kNN, SVM, low-shot and quality protocols name it ``FrozenEncoder``; ``--pretrained`` loads its weights.

    Args:
        backbone: config of the backbone.
        feature: config of a :class:`~mixcl.evaluation.models.output_features.Feature`; by default
            :class:`~mixcl.evaluation.models.output_features.Output`.
        data_preprocessor: config of what normalises batches of a data loader.

    Attributes:
        backbone: the module with the weights.
        preprocess: makes the input of one image; only where ``mixcl.load_backbone`` has set it.
        source: the file that the weights come from.
        side: which encoder of the file, 'online' or 'target'.
        loaded: what became of the weights of the file, in words.

    Raises:
        UserError: if the backbone does not have such features.
    """

    encoder_names = ('online',)
    """Whichever encoder of a checkpoint was loaded."""

    preprocess: Preprocess
    source = 'random'
    side = 'online'
    loaded = ''

    def __init__(
        self, backbone: Mapping, feature: Mapping | None = None, data_preprocessor: Mapping | None = None
    ) -> None:
        super().__init__(data_preprocessor)
        self.backbone = MODELS.build(backbone)
        self.feature = MODELS.build(feature or dict(type='Output'))
        self.feature.check(self.backbone)

    def forward(self, images: Tensor) -> Tensor:
        """(B, D) features of images (B, 3, H, W), float, RGB, normalised as ``preprocess`` does; with gradient."""
        (features,) = self.feature(self.backbone, images)
        return features

    def extract_features(self, images: Tensor, encoder: str = 'online') -> Tensor:
        """Same as calling it; what evaluations call of models of several encoders."""
        return self(images)


def load_encoder(settings: Mapping, pretrained: PretrainedBackbone | None, seed: int = 0) -> Encoder:
    """Build an encoder by the arguments of :class:`Encoder` and load its weights: in evaluation mode, on the CPU.

    Without ``pretrained`` the weights are random, by the seed; global generators stay as they are.

    Raises:
        UserError: if the weights do not fit.
    """
    with undisturbed_generators():
        seed_global_generators(seed, 'random encoder')
        encoder: Encoder = build(MODELS, {'type': 'FrozenEncoder', **settings})
        if pretrained is None:
            encoder.init_weights()
    if pretrained is not None:
        encoder.loaded = load_backbone(encoder, pretrained)
        encoder.source, encoder.side = pretrained.source, pretrained.encoder
    return encoder.eval()
