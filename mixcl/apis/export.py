"""Export of a pretrained backbone to files of another library, checked by loading them there."""

import contextlib
import importlib.util
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from mmengine.config import Config
from torch import Tensor

from mixcl.apis.arguments import named
from mixcl.encoders.widths import image_channels
from mixcl.errors import UserError
from mixcl.evaluation.results import stored_results, table
from mixcl.files import folder_written_whole
from mixcl.quiet_log import tell
from mixcl.recipes.evaluations.adaptation import BATCH_NORMS
from mixcl.recipes.images import image_pipeline, image_size, output_size
from mixcl.recipes.paths import preprocessors_of
from mixcl.recipes.subject import Subject, read_subject
from mixcl.weights import RANDOM, load_encoder
from mixcl.weights.export import WRITERS, Exported, Loading, Preprocessing, model_card
from mixcl.weights.export.upload import HEADER, repository_named, upload

TOLERANCE = 1e-5
"""Largest difference of features in the other library, as a share of the largest feature."""

IMAGENET = dict(mean=(123.675, 116.28, 103.53), std=(58.395, 57.12, 57.375))


@named()
def export(
    checkpoint: str | Path,
    to: str,
    out: str | Path,
    encoder: str | None = None,
    config: str | Path | None = None,
    push: str | None = None,
) -> Path:
    """Write the backbone in a checkpoint to a folder that another library can load, with a model card.

    The folder appears once the other library has loaded it by the printed lines and given the same features of random
    images. If that library is not installed, the output says so instead.

    Args:
        checkpoint: as for :func:`mixcl.load_backbone`: a run, a file, 'timm:NAME' or 'hf-hub:OWNER/NAME'.
        to: 'timm', 'torchvision', 'huggingface' or 'onnx'; mmpretrain and mmdet read checkpoints (docs/weights.md).
        out: the folder, which must be empty or not exist.
        encoder: 'online' or 'target'; by default the one that the method's linear probe takes, if the file has it.
        config: config that the weights were trained with, in place of the one in the file.
        push: 'OWNER/NAME', a repository of the hub to upload the folder to, for timm; a new one is private.

    Returns:
        The folder.

    Raises:
        UserError: if the checkpoint cannot be read, the format cannot express the backbone, the check fails, or the hub
            refuses.
    """
    out = Path(out).expanduser()
    if to not in WRITERS:
        raise UserError(f'there is no format {to!r} to export to; choose one of {", ".join(WRITERS)}')
    if push and to != 'timm':
        raise UserError(f'`push={push}` uploads what timm loads from the hub; choose `to=timm`, not {to}')
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise UserError(f'{out} is there already, and export overwrites nothing; remove it or choose another `out`')
    if str(checkpoint) == RANDOM:
        raise UserError("only the weights of a file can be exported, not 'random'; give a checkpoint")
    subject = read_subject(str(checkpoint), None if config is None else str(config))
    chosen = subject.side(encoder)
    exported = exported_of(subject, chosen)
    repository = repository_named(push) if push else None
    try:
        with folder_written_whole(out) as folder:
            checked = [(way, check(exported, way, folder, to)) for way in WRITERS[to](exported, folder)]
            lines = [f'{way.lines(Path(out.name), repository)}\n# {result}' for way, result in checked]
            header = HEADER if repository else ''
            model_card(exported, folder, subject.encoders[chosen], lines, _results(subject, chosen), header)
    except OSError as error:
        reason = error.strerror or error
        raise UserError(f'{error.filename or out} cannot be written ({reason}); choose another `out`') from error
    loading = [f'{way.lines(out)}\n# {result}' for way, result in checked]
    tell('\n\n'.join([f'written: {out}, the {chosen} encoder of {checkpoint}, for {to}', *loading]))
    if repository:
        upload(out, repository)
        tell(f'uploaded: mixcl.load_backbone({f"hf-hub:{repository}"!r})')
    return out


def exported_of(subject: Subject, encoder: str) -> Exported:
    """Build an encoder of the checkpoint, with its weights."""
    config: dict[str, Any] = dict(subject.backbone or {})
    norm = config.get('norm_cfg') or {}
    if norm.get('type') in BATCH_NORMS:
        config['norm_cfg'] = {**norm, 'type': 'BN'}  # the same function of images and weights
    loaded = load_encoder(dict(backbone=config), subject.encoders[encoder]).float().requires_grad_(False)
    return Exported(loaded, config, preprocessing_of(subject.config or Config(), loaded.backbone))


def preprocessing_of(cfg: Config, backbone: Any) -> Preprocessing:
    """Return how a config prepares images for test or validation; as for ImageNet where it does not say."""
    steps: Sequence[Mapping] = ()
    with contextlib.suppress(UserError):  # the config has no images
        steps = image_pipeline(cfg)
    sizes = [made for step in steps if (made := output_size(step))] or [(224, 224)]
    resize, crop = min(sizes[0]), sizes[-1]
    model = getattr(backbone, 'model', backbone)
    embedding = getattr(model, 'patch_embed', None)
    fixed = getattr(embedding, 'init_input_size', None) or getattr(embedding, 'img_size', None)  # mmpretrain's, timm's
    fixed = fixed or getattr(model, 'image_size', None)  # torchvision's
    size = fixed or (crop if steps else cfg.get('model') and image_size(cfg)) or crop
    height, width = (size, size) if isinstance(size, int) else size
    channels = image_channels(backbone)
    way = next((step['interpolation'] for step in steps if step.get('interpolation')), 'bicubic')
    normalised: Mapping = next(iter(preprocessors_of(cfg)), {})
    mean, std = (_per_channel(normalised.get(key) or IMAGENET[key], channels) for key in ('mean', 'std'))
    return Preprocessing(
        channels=channels,
        size=(height, width),
        resize=round(max(resize, min(crop)) * min(height, width) / min(crop)),
        interpolation=way if way == 'bilinear' else 'bicubic',  # no library has OpenCV's area interpolation
        mean=mean,
        std=std,
    )


def _per_channel(values: Sequence[float], channels: int) -> tuple[float, ...]:
    if len(values) not in (1, channels):
        raise UserError(
            f'the backbone takes images of {channels} channels, but its config normalises {len(values)}; name '
            'one with a fitting data_preprocessor by `config`'
        )
    # Rounded to the digits that such numbers usually have.
    return tuple(round(value / 255, 6) for value in (values if len(values) == channels else [*values] * channels))


def check(exported: Exported, way: Loading, folder: Path, to: str) -> str:
    """Load a folder by the very lines that users get, compare features of random images, and return the outcome.

    Raises:
        UserError: if the lines fail, or the features differ.
    """
    if absent := [name for name in way.libraries if importlib.util.find_spec(name) is None]:
        return f'not checked: {" and ".join(absent)} not installed'
    given, said = exported.preprocessing, io.StringIO()
    shape, generator = (3, given.channels, *given.size), torch.Generator().manual_seed(0)
    scope: dict = dict(images=torch.randn(shape, generator=generator))
    try:
        with (
            torch.no_grad(),
            torch.random.fork_rng(devices=()),
            contextlib.redirect_stdout(said),
            contextlib.redirect_stderr(said),
        ):
            expected = dict(features=exported.encoder(scope['images']))
            exec(way.lines(folder), scope)
            if 'tokens' in scope:
                expected['tokens'] = exported.encoder.tokens(scope['images'])
            difference = max(_difference(torch.as_tensor(scope[name]), each) for name, each in expected.items())
    except ImportError as error:
        return f'not checked: {" ".join(str(error).split())}'
    except Exception as error:  # raised by the other library
        problem = f'{way.libraries[0]} does not load it ({type(error).__name__}: {" ".join(str(error).split())[:300]})'
    else:
        problem = '' if difference <= TOLERANCE else f'its features there differ by {difference:.2g}'
    if problem:
        raise exported.refusal(to, problem)
    what = ' and '.join(expected)
    return f'checked with {way.libraries[0]}: {what} of random images differ by {difference:.1g} of the largest'


def _difference(found: Tensor, expected: Tensor) -> float:
    return float((found - expected).abs().max() / expected.abs().max().clamp(min=1e-12))


def _results(subject: Subject, encoder: str) -> str:
    """Return a table of the encoder's results beside the checkpoint, or where mixcl evaluate puts them."""
    rows = stored_results(subject.checkpoint)
    own = [row for row in rows if row['checkpoint']['sha256'] == subject.sha256 and row['encoder'] == encoder]
    return table(own) if own else ''
