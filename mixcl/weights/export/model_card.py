"""The model card: what someone who finds the folder needs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import mixcl
from mixcl.files import sha256_of
from mixcl.recipes.paths import innermost
from mixcl.shipped import name_of
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
| parameters | {parameters:.2f} M |

## Loading

`images` (B, {given.channels}, {given.size[0]}, {given.size[1]}) give `features` (B, D){tokens}.

{loading}

## Preprocessing

{order}. Images are turned upright by their EXIF tag, and of 16 bits the upper eight count, which the
libraries above do not do by themselves. The short side becomes {given.resize} pixels ({given.interpolation}), the
middle {given.size[0]} x {given.size[1]} is cut out. Values from 0 to 1 are normalised by

    mean = {mean}
    std = {std}

## Results

{results}

## Files and licence

{checksums}

The licence is for the owner of these weights to state, and the images may have terms of their own; mixcl itself is
under Apache-2.0.
"""
CELLS = ', and `tokens` (B, h, w, D), one for each cell of {} x {} pixels'
UNKNOWN = 'not stored in the checkpoint'


def model_card(
    exported: Exported, folder: Path, pretrained: PretrainedBackbone, loading: Sequence[str], results: str, header: str
) -> None:
    """Write ``README.md`` to a folder that has all other files.

    ``pretrained`` is the backbone as it was read, ``loading`` has the Python lines of each way to load the folder, and
    ``results`` is a table, or empty. ``header`` comes first.
    """
    cfg: dict[str, Any] = {} if pretrained.config is None else pretrained.config.to_dict()
    name, given = name_of(cfg) or Path(pretrained.source).stem, exported.preprocessing
    data = innermost((cfg.get('train_dataloader') or {}).get('dataset') or {})
    files = sorted(folder.iterdir())
    text = CARD.format(
        name=name,
        kind=type(exported.backbone).__name__,
        version=mixcl.__version__,
        method=str(cfg.get('config_name') or '').rpartition('/')[0] or UNKNOWN,
        data=', '.join(str(data[key]) for key in ('type', 'data_root', 'split') if data.get(key)) or UNKNOWN,
        epochs=pretrained.epochs or UNKNOWN,
        encoder=pretrained.encoder,
        parameters=sum(part.numel() for part in exported.backbone.parameters()) / 1e6,
        loading='\n\n'.join(f'```python\n{lines}\n```' for lines in loading),
        tokens=CELLS.format(*exported.encoder.cell_size) if any('tokens' in lines for lines in loading) else '',
        given=given,
        order='Channels are red, green, blue' if given.channels == 3 else f'There are {given.channels} channels',
        mean=list(given.mean),
        std=list(given.std),
        results=results or 'None lay beside the checkpoint.',
        checksums='\n'.join(f'    {sha256_of(file)}  {file.name}' for file in files),
    )
    (folder / 'README.md').write_text(header + text, encoding='utf-8')
