"""A frozen encoder of other people's weights, whose features are the keys: distillation as rows of a table of terms."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import interpolate

from mixcl.encoders.passes import backbone_features
from mixcl.encoders.stream import RowsOf
from mixcl.encoders.targets import Rows, TargetEncoder
from mixcl.encoders.widths import feature_width
from mixcl.errors import UserError
from mixcl.randomness import seed_global_generators, undisturbed_generators
from mixcl.ranges import COUNT, check_range
from mixcl.recipes.paths import preprocessors_of
from mixcl.registry import MODELS, TARGET_ENCODERS, build
from mixcl.weights.encoder import RANDOM
from mixcl.weights.pretrained import PretrainedBackbone, load_pretrained, read_pretrained

IMAGENET = dict(mean=(123.675, 116.28, 103.53), std=(58.395, 57.12, 57.375))
"""Statistics of images, RGB from 0 to 255, where neither a config nor a file says others."""


@TARGET_ENCODERS.register_module()
class Teacher(TargetEncoder):
    """A pretrained backbone that never changes; its features (B, C), without a head, are the keys.

    Keys of patches are its tokens, resized to the grid of the student's.

    Its weights are random until :meth:`copy_weights`, which ``init_weights`` of a model calls. It encodes in evaluation
    mode and without gradient, on the device of the student. Its weights are in no checkpoint: there is their digest,
    and a run continues with the same weights alone. The student's neck maps to its width C.

    Args:
        backbone: config of the teacher's backbone.
        neck: the student's projector, which it does not need.
        pretrained: its weights, see :func:`~mixcl.weights.read_pretrained`; they are read when the run begins. Without
            them, as where a run is only looked at, and for 'random', they stay random, always the same.
        encoder: which encoder of the file; the first that it has.
        size: side in pixels that images are resized to; None takes them as they are.
        mean, std: how its images are normalised, RGB from 0 to 255; by default what the file says, or the model of
            timm, or ImageNet's.

    Raises:
        UserError: if the backbone is no config; if the weights do not fit, are not those of before, or are of a model
            that takes colours in BGR order.
    """

    is_another_network = True
    digest: Tensor

    def __init__(
        self,
        backbone: Mapping[str, Any],
        neck: nn.Module | None = None,
        pretrained: str = '',
        encoder: str | Sequence[str] = ('target', 'online'),
        size: int | None = None,
        mean: Sequence[float] | None = None,
        std: Sequence[float] | None = None,
    ) -> None:
        _check_named(backbone)
        if size is not None:
            check_range('Teacher', COUNT, size=size)
        super().__init__(nn.Identity(), nn.Identity())
        self.pretrained, self.encoder, self.size = str(pretrained), encoder, size
        self.given = {name: value for name, value in dict(mean=mean, std=std).items() if value is not None}
        with undisturbed_generators():  # the student's weights do not depend on it
            seed_global_generators(0, 'teacher')
            # In a list, so that it is neither trained nor stored.
            self.held: list[nn.Module] = [build(MODELS, backbone)]
        self.backbone.requires_grad_(False).eval()
        self.scale: Tensor | float = 1.0
        self.shift: Tensor | float = 0.0
        self.seen_by_student: dict[str, Tensor] = {}
        self.loaded = False
        self.register_buffer('digest', torch.zeros(32, dtype=torch.uint8))

    @property
    def backbone(self) -> nn.Module:
        """The frozen backbone."""
        return self.held[0]

    @staticmethod
    def key_width(backbone: Any = None, **_: Any) -> int:
        """Return the width of the features of a teacher's backbone."""
        _check_named(backbone)
        with undisturbed_generators():
            try:
                with torch.device('meta'):  # no second copy of a large one
                    return feature_width(build(MODELS, backbone), backbone.get('in_channels', 3))
            except RuntimeError:  # mmpretrain's ResNets read numbers
                return feature_width(build(MODELS, backbone), backbone.get('in_channels', 3))

    def follow(self, preprocessor: nn.Module) -> None:
        self.seen_by_student = {
            name: getattr(preprocessor, name).flatten().float().cpu()
            for name in ('mean', 'std')
            if hasattr(preprocessor, name)
        }

    def copy_weights(self, backbone: nn.Module, neck: nn.Module) -> None:
        """Load the teacher's weights, once."""
        if self.loaded or self.pretrained in ('', RANDOM):
            return
        pretrained = read_pretrained(self.pretrained, self.encoder)
        load_pretrained(self.backbone, pretrained, tuple(getattr(self.backbone, 'new_parameters', ())))
        statistics = {**IMAGENET, **_of_timm(self.backbone), **_of_file(pretrained), **self.given}
        mean, std = (torch.tensor(statistics[name], dtype=torch.float32) for name in ('mean', 'std'))
        student = dict(mean=torch.zeros_like(mean), std=torch.ones_like(std)) | self.seen_by_student
        if len(student['mean']) not in (1, len(mean)):
            raise UserError(
                f'the teacher {self.pretrained} takes images of {len(mean)} channels, but the data have '
                f'{len(student["mean"])}: give model.target.mean and std, or another teacher'
            )
        device = next(self.backbone.parameters()).device
        self.scale = (student['std'] / std)[:, None, None].to(device)
        self.shift = ((student['mean'] - mean) / std)[:, None, None].to(device)
        self.digest.copy_(_digest_of(self.backbone))
        self.loaded = True

    def images(self, seen: Tensor) -> Tensor:
        """Return images (B, C, h, w) that are normalised for the student as the teacher takes them."""
        images = seen * self.scale + self.shift
        if self.size is None or images.shape[-2:] == (self.size, self.size):
            return images.to(seen.dtype)
        return interpolate(images, (self.size, self.size), mode='bilinear', antialias=True).to(seen.dtype)

    @torch.no_grad()
    def keys(
        self, rows: Rows, projections: dict[RowsOf, Tensor], backbone: nn.Module, neck: nn.Module
    ) -> dict[RowsOf, Tensor]:
        seen = {name: self.images(each.images) for name, each in {each.name: each for each in rows.values()}.items()}
        own = {name: replace(each, images=seen[each.name]) for name, each in rows.items()}
        return backbone_features(self.backbone, own)

    def passes(self, queries: set[RowsOf], keys: set[RowsOf]) -> set[RowsOf]:
        return keys

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> 'Teacher':
        """Move, or cast, the backbone as well."""
        self.backbone._apply(fn, recurse)
        self.scale, self.shift = (fn(each) if isinstance(each, Tensor) else each for each in (self.scale, self.shift))
        return super()._apply(fn, recurse)

    def _load_from_state_dict(self, state: dict[str, Any], prefix: str, *args: Any) -> None:
        stored = state.get(f'{prefix}digest')
        if self.loaded and stored is not None and not torch.equal(stored.cpu(), self.digest.cpu()):
            raise UserError(
                f'the teacher {self.pretrained} has other weights than the one that the checkpoint was trained with: '
                'give that one, or begin a new run'
            )
        super()._load_from_state_dict(state, prefix, *args)


def _check_named(backbone: Any) -> None:
    if not isinstance(backbone, Mapping):
        raise UserError(
            'Teacher: give the config of its backbone and its weights, as in model.target=dict(type="Teacher", '
            'backbone=dict(type="TimmBackbone", name="vit_small_patch14_dinov2"), pretrained="FILE")'
        )


def _digest_of(module: nn.Module) -> Tensor:
    """Return the SHA-256 of all weights and buffers, in the order of their names."""
    digest = hashlib.sha256()
    for name, value in sorted(module.state_dict().items()):
        digest.update(name.encode() + value.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return torch.frombuffer(bytearray(digest.digest()), dtype=torch.uint8)


def _of_timm(backbone: nn.Module) -> dict[str, Sequence[float]]:
    settings = getattr(getattr(backbone, 'model', None), 'default_cfg', None) or {}
    return {name: [255 * value for value in settings[name]] for name in ('mean', 'std') if settings.get(name)}


def _of_file(pretrained: PretrainedBackbone) -> dict[str, Sequence[float]]:
    settings: Mapping = next(iter(preprocessors_of(pretrained.config or {})), {})
    if len(settings.get('mean') or ()) == 3 and not (settings.get('to_rgb') or settings.get('bgr_to_rgb')):
        raise UserError(f'the teacher {pretrained.source} takes colours in BGR order, which no student here sees')
    return {name: list(settings[name]) for name in ('mean', 'std') if settings.get(name)}
