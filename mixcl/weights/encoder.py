"""The encoder of a checkpoint as a module."""

from collections.abc import Mapping

from mmengine.model import BaseModel
from torch import Tensor

from mixcl.encoders.output_features import Output
from mixcl.encoders.tokens import cell_size_of, tokens_of
from mixcl.randomness import seed_global_generators, undisturbed_generators
from mixcl.registry import MODELS, build
from mixcl.weights.preprocess import Preprocess
from mixcl.weights.pretrained import PretrainedBackbone, load_pretrained

RANDOM = 'random'
"""Name in place of a checkpoint for weights as they are initialised."""


@MODELS.register_module(name=['Encoder', 'FrozenEncoder'])
class Encoder(BaseModel):
    """A backbone with one feature per image: ``encoder(images)``. :func:`load_encoder` makes one from a checkpoint.

    Configs of kNN, SVM, low-shot and quality protocols name it ``FrozenEncoder``; ``--pretrained`` loads its weights.

    Args:
        backbone: config of the backbone.
        feature: config of a :class:`~mixcl.encoders.output_features.Feature`; by default
            :class:`~mixcl.encoders.output_features.Output`.
        data_preprocessor: config of the module that normalises batches of a data loader.

    Attributes:
        backbone: the module with the weights.
        preprocess: makes the input from one image; only set by ``mixcl.load_backbone``.
        source: the file that the weights come from.
        side: which encoder of the file, 'online' or 'target'.
        loaded: which weights of the file were loaded, in words.

    Raises:
        UserError: if the backbone has no such features.
    """

    encoder_names = ('online',)
    """Name of whichever encoder of a checkpoint was loaded."""

    preprocess: Preprocess
    source = RANDOM
    side = 'online'
    loaded = ''

    def __init__(
        self, backbone: Mapping, feature: Mapping | None = None, data_preprocessor: Mapping | None = None
    ) -> None:
        super().__init__(data_preprocessor)
        self.backbone = MODELS.build(backbone)
        self.feature = MODELS.build(feature) if feature else Output()
        self.feature.check(self.backbone)

    def forward(self, images: Tensor) -> Tensor:
        """Return (B, D) features of images (B, 3, H, W), float, RGB, normalised as by ``preprocess``; with gradient."""
        (features,) = self.feature(self.backbone, images)
        return features

    def tokens(self, images: Tensor) -> Tensor:
        """Return (B, h, w, C), a vector for each cell of the images, with gradient; see ``cell_size``.

        These are the patches of a vision transformer after its last norm, or the last map of another backbone.
        """
        return tokens_of(self.backbone, images)

    @property
    def cell_size(self) -> tuple[int, int]:
        """Height and width in pixels of a cell of :meth:`tokens`."""
        return cell_size_of(self.backbone)

    def extract_features(self, images: Tensor, encoder: str = 'online') -> Tensor:
        """Encode images like a call; evaluations use this name for models with several encoders."""
        return self(images)


def load_encoder(settings: Mapping, pretrained: PretrainedBackbone | None, seed: int = 0) -> Encoder:
    """Build an encoder from the arguments of :class:`Encoder` and load its weights; in evaluation mode, on the CPU.

    Without ``pretrained`` the weights are random, drawn from the seed. Global generators stay as they are.

    Raises:
        UserError: if the weights do not fit.
    """
    with undisturbed_generators():
        seed_global_generators(seed, 'random encoder')
        encoder: Encoder = build(MODELS, {'type': 'FrozenEncoder', **settings})
        if pretrained is None:
            encoder.init_weights()
    if pretrained is not None:
        encoder.loaded = load_pretrained(encoder, pretrained)
        encoder.source, encoder.side = pretrained.source, pretrained.encoder
    return encoder.eval()
