"""The model card: what someone needs who finds the folder."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import mixcl
from mixcl.files import sha256_of
from mixcl.weights.export.base import Exported
from mixcl.weights.pretrained import PretrainedBackbone

CARD = """\
# {name}

{kind}, pretrained by contrastive learning with mixcl {version}. It gives features, without a classifier.

| | |
|---|---|
| method | {method} |
| data | {data} |
| epochs | {epochs} |
| encoder | {encoder} |
| parameters | {parameters:.1f} M |

## Loading

{loading}

`images` is a tensor (B, {channels}, {size}, {size}); `features` is (B, D).

## Preprocessing

{order}, resized so that the short side has {resize} pixels ({interpolation}), the middle {size} x {size} cut out, \
divided by 255, then normalised:

    mean = {mean}
    std = {std}

## Results

{results}

## Files and licence

{checksums}

The licence of these weights is for whoever trained them to say, and the data may have terms of its own; mixcl itself is
under Apache-2.0.
"""


def model_card(
    exported: Exported,
    folder: Path,
    pretrained: PretrainedBackbone,
    lines: Sequence[str],
    checks: Sequence[str],
    results: str,
) -> None:
    """Write ``README.md``.

    Args:
        exported: the backbone.
        folder: with everything else in it.
        pretrained: the same, as it was read.
        lines: Python that loads the folder, in one way or several.
        checks: what came out when each was tried.
        results: a table; empty for none.
    """
    cfg: dict[str, Any] = {} if pretrained.config is None else pretrained.config.to_dict()
    name = cfg.get('config_name') or Path(pretrained.source).stem
    method, given = str(name).rpartition('/')[0], exported.preprocessing
    backbone = exported.backbone
    text = CARD.format(
        name=name,
        kind=type(backbone).__name__,
        version=mixcl.__version__,
        method=method or 'not stored in the checkpoint',
        data=_data(cfg) or 'not stored in the checkpoint',
        epochs=pretrained.epochs or 'not stored in the checkpoint',
        encoder=pretrained.encoder,
        parameters=sum(part.numel() for part in backbone.parameters()) / 1e6,
        loading='\n\n'.join(f'```python\n{code}\n# {check}\n```' for code, check in zip(lines, checks, strict=True)),
        channels=given.channels,
        size=given.size,
        resize=given.resize,
        interpolation=given.interpolation,
        order='Channels in the order red, green, blue' if given.channels == 3 else f'{given.channels} channels',
        mean=list(given.mean),
        std=list(given.std),
        results=results or 'None stored beside the checkpoint.',
        checksums='\n'.join(
            f'    {sha256_of(file)}  {file.name}' for file in sorted(folder.iterdir()) if file.name != 'README.md'
        ),
    )
    (folder / 'README.md').write_text(text, encoding='utf-8')


def _data(cfg: dict[str, Any]) -> str:
    """The class of the training data, and where they lay below the current folder."""
    data = (cfg.get('train_dataloader') or {}).get('dataset') or {}
    while isinstance(data.get('dataset'), dict):
        data = data['dataset']
    words = [data.get('type'), data.get('data_root'), data.get('split')]
    return ', '.join(str(word) for word in words if word)
