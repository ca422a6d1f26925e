"""The backbone of a checkpoint as a plain module, and features of images, for code that knows nothing else of mixcl."""

import warnings
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import torch
from mmengine.config import Config
from mmengine.dataset import Compose
from PIL import Image
from torch import Tensor, nn

from mixcl.apis.arguments import named
from mixcl.datasets.transforms.decoding import rgb_of
from mixcl.datasets.unreadable import UnreadableImage
from mixcl.encoders.passes import Inputs, backbone_features
from mixcl.errors import UserError
from mixcl.evaluation.features import evaluating
from mixcl.evaluation.image_sources import image_pipeline, preprocessor_of
from mixcl.evaluation.subject import read_subject
from mixcl.registry import MODELS, TRANSFORMS, build
from mixcl.terminal import Progress
from mixcl.weights import load_backbone as load_weights

Picture = str | Path | np.ndarray | Image.Image
"""A file name; an array (H, W, 3) of RGB or (H, W) of grey values, uint8; or an image of Pillow."""


class Preprocess:
    """Makes a model's input of one image, as the images of its evaluations are prepared: resized, cropped, normalised.

    By configs of transforms that end with ``PackInputs``, and of the data preprocessor, which normalises.
    """

    def __init__(self, pipeline: Sequence[dict], preprocessor: dict) -> None:
        self._transforms = Compose([build(TRANSFORMS, step) for step in pipeline])
        self._preprocessor = build(MODELS, preprocessor)

    def __call__(self, image: Picture) -> Tensor:
        """(3, H, W) float32 of an image, RGB; also as a transform of torchvision's data sets.

        Raises:
            UserError: if it is no image.
            UnreadableImage: if its file cannot be decoded.
        """
        if isinstance(image, str | Path):
            results: dict[str, Any] = dict(img_path=str(image))
        else:
            pixels = np.ascontiguousarray(_rgb(image)[..., ::-1])  # pipelines take BGR
            results = dict(img=pixels, img_shape=pixels.shape[:2], ori_shape=pixels.shape[:2])
        packed = self._transforms(results)['inputs']
        return self._preprocessor(dict(inputs=packed[None]), False)['inputs'][0]


def _rgb(image: Any) -> np.ndarray:
    """(H, W, 3) uint8."""
    if isinstance(image, Image.Image):
        return rgb_of(image)
    if isinstance(image, np.ndarray) and image.dtype == np.uint8 and image.size:
        if image.ndim == 2:
            return np.repeat(image[..., None], 3, axis=2)
        if image.ndim == 3 and image.shape[2] == 3:
            return image
    what = f'{image.dtype} array {image.shape}' if isinstance(image, np.ndarray) else type(image).__name__
    raise UserError(
        f'an image is a file name, a Pillow image, or a uint8 array, (H, W, 3) of RGB or (H, W) of grey, not {what}'
    )


class LoadedBackbone(nn.Module):
    """A pretrained backbone with one feature per image.

    Attributes:
        backbone: the module with the weights.
        preprocess: makes its input of an image.
        source: the file that the weights come from.
    """

    def __init__(self, backbone: nn.Module, preprocess: Preprocess, source: str) -> None:
        super().__init__()
        self.backbone, self.preprocess, self.source = backbone, preprocess, source

    def forward(self, images: Tensor) -> Tensor:
        """(B, C) features of images (B, 3, H, W), float, RGB, normalised as ``preprocess`` does; with gradient."""
        return backbone_features(self.backbone, Inputs(dict(images=images)))['images']


@named()
def load_backbone(
    path: str | Path, encoder: str | None = None, config: str | Path | None = None, image_size: int | None = None
) -> LoadedBackbone:
    """Load the backbone of a checkpoint, in evaluation mode on the CPU.

    Args:
        path: a checkpoint, or the folder of a run, for its newest one.
        encoder: 'online', or 'target' for the momentum encoder; by default the one that ``mixcl.export`` takes.
        config: file or name of the config that it was trained with, in the place of the one that it carries. Modules
            that this file names are imported.
        image_size: of the images that ``preprocess`` makes; by default as the config evaluates, or trains.

    Raises:
        UserError: if it cannot be read, or does not say what its weights belong to.
    """
    subject = read_subject(str(path), None if config is None else str(config))
    (chosen,) = subject.encoders_for(encoder)
    source, cfg = subject.checkpoint, subject.config or Config()
    preprocessor = preprocessor_of(cfg)
    if not preprocessor:
        raise UserError(
            f'{config or source} does not say how images are normalised; name a config that does by config='
        )
    preprocessor = subject.checked(preprocessor, MODELS, 'data_preprocessor')
    pipeline = subject.checked(image_pipeline(cfg, image_size), TRANSFORMS, 'pipeline')
    backbone = build(MODELS, subject.backbone or {})
    load_weights(backbone, subject.encoders[chosen])
    return LoadedBackbone(backbone, Preprocess(pipeline, preprocessor), source).eval()


@named(load_backbone, without=('path',))
def embed(
    path: str | Path | LoadedBackbone,
    images: Iterable[Picture],
    *,
    batch_size: int = 64,
    device: str | None = None,
    **options: Any,
) -> np.ndarray:
    """Features of images.

    Args:
        path: as for :func:`load_backbone`, or what that has loaded.
        images: file names, arrays and images of Pillow, in any mixture.
        batch_size: how many are encoded at once.
        device: such as 'cuda'; by default the GPU, if there is one.
        **options: of :func:`load_backbone`.

    Returns:
        (N, C) float32, in the order of the images. Rows of files that cannot be decoded are NaN; a warning names them.

    Raises:
        UserError: as :func:`load_backbone`, for what is no image, and if none can be decoded.
    """
    if isinstance(images, Picture) or not isinstance(images, Iterable):
        raise UserError('images is a list of file names, arrays or Pillow images; put a single one into a list')
    if isinstance(path, LoadedBackbone) and options:
        raise UserError(f'{", ".join(options)} is for load_backbone, which has loaded {path.source} already')
    backbone = path if isinstance(path, LoadedBackbone) else load_backbone(path, **options)
    items, where = list(images), device or ('cuda' if torch.cuda.is_available() else 'cpu')
    backbone.to(where)
    rows: list[Tensor] = []
    shown = Progress(f'features of {len(items)} images', len(items), 'images')
    with evaluating(backbone), ThreadPoolExecutor() as pool, shown:
        for start in range(0, len(items), batch_size):
            prepared = list(pool.map(lambda image: _prepared(backbone, image), items[start : start + batch_size]))
            rows += _encoded(backbone, prepared, where)
            shown.update(len(rows))
    if not rows:
        return np.zeros((0, 0), dtype=np.float32)
    width = max(map(len, rows))
    if not width:
        raise UserError(f'none of the {len(rows)} images can be read, the first is {items[0]}')
    return np.stack([row.numpy() if len(row) else np.full(width, np.nan, dtype=np.float32) for row in rows])


def _prepared(backbone: LoadedBackbone, image: Picture) -> Tensor | None:
    try:
        return backbone.preprocess(image)
    except UnreadableImage as error:
        warnings.warn(f'no features of {error}', stacklevel=2)
        return None


def _encoded(backbone: LoadedBackbone, images: list[Tensor | None], device: str) -> Iterable[Tensor]:
    """The features of each image; none for None."""
    readable = [image for image in images if image is not None]
    if len({image.shape for image in readable}) > 1:
        raise UserError('the images are not of one size after preprocessing; give image_size=, which crops them')
    features = iter(backbone(torch.stack(readable).to(device)).float().cpu()) if readable else iter(())
    return [torch.zeros(0) if image is None else next(features) for image in images]
