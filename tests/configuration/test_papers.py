"""configs/README.md trains as the papers say: epochs, batches, learning rates, temperatures, crops.

Epochs are those of the numbers in published.json. All else is in PAPERS, as stated by the papers or, where these are
silent, by the code of the hosts and authors. Nothing in PAPERS is read from our configs.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

import pytest
from configuration.readme import rows
from mmengine.config import Config

from mixcl.evaluation.published import all_published
from mixcl.recipes.paths import innermost
from mixcl.registry import LOSSES

LENGTH_AND_RATE = {'schedule.epochs', 'batch', 'at_once', 'optimizer.lr'}
NOT_IN_THE_PAPER = ('not in the paper', '-, -; ')
"""Words of lines whose numbers the paper lacks: Un-Mix, and the empty cells of PatchMix's Table 7."""


def setting(config: str, settings: Mapping[str, Any], epochs: int) -> tuple[str, str, int]:
    own = {key: value for key, value in settings.items() if key not in LENGTH_AND_RATE}
    return config, json.dumps(own, sort_keys=True), epochs


def test_the_rows_train_for_the_epochs_of_their_numbers_and_no_number_lacks_its_row() -> None:
    wanted: dict[tuple, set[str]] = {}
    for number in all_published():
        if 'config' in number:
            key = setting(number['config'], number.get('settings', {}), number['epochs'])
            wanted.setdefault(key, set()).add(number['source'])
    trained = set()
    for row in rows():
        key = setting(row.config, row.overrides, row.composed().train_cfg.max_epochs)
        trained.add(key)
        known = any(words in row.line for words in NOT_IN_THE_PAPER) or 'Figure' in row.sources[0]
        assert known or wanted.get(key, set()) & set(row.sources), (row.sources, key)
    assert not set(wanted) - trained


# By the first expression that matches '<source> <config>': batch, learning rate per 256 images, temperatures, and crops
# as (number, pixels, smallest and largest share of the image's area). None is what a paper does not state.
ANY = None
IN1K, SMALL, MOCO = ((2, 224, 0.08, 1),), ((2, 32, 0.1, 1),), ((2, 224, 0.2, 1),)
GLOBAL = ((2, 224, 0.4, 1),)
DINO = (0.04, 0.07, 0.1)
PAPERS = {
    r'PatchMix, .* patchmix/vit-s16': (1024, 5e-4, (0.2,), ((2, 224, 0.05, 1),)),
    r'PatchMix, .* patchmix/vit-b16': (1024, 7.5e-4, (0.2,), ((2, 224, 0.05, 1),)),
    r'PatchMix, .* patchmix/vit-t2': (512, 2e-3, (0.2,), SMALL),
    r'PatchMix, .* patchmix/vit-s2': (512, 5e-4, (0.2,), SMALL),
    r'PatchMix, .* patchmix/vit-b2': (512, 7.5e-4, (0.2,), SMALL),
    r'PatchMix, Table 3 mocov3/': (512, 1.5e-4, (0.2,), ANY),
    r'PatchMix, Table 3 dino/': (512, 5e-4, DINO, ((2, 32, ANY, ANY), (8, 16, ANY, ANY))),  # 16 by its GFLOPs
    # By the command of iBOT's authors for ViT-S; PatchMix does not state its own.
    r'PatchMix, Table 3 ibot/': (512, 5e-4, DINO, ((2, 32, 0.25, 1), (10, 16, 0.05, 0.25))),
    r'(PatchMix, Table 2|APS, Table 1) ibot/vit-s': (1024, 5e-4, DINO, ((2, 224, 0.25, 1), (10, 96, 0.05, 0.25))),
    r'(PatchMix, Table 2|APS, Table 1) ibot/vit-b': (1024, 5e-4, DINO, ((2, 224, 0.32, 1), (10, 96, 0.05, 0.32))),
    r'PatchMix, Table 2 (simclr|byol|swav)/': (4096, ANY, ANY, ANY),
    r'MixCo, (Table [14]|Figure 3) mocov2/': (128, 0.03, (0.2,), MOCO),
    r'MixCo, (Table [14]|Figure 3) mixco/.*mocov2': (128, 0.03, (0.05, 0.2), MOCO),
    r'MixCo, Table 1 (simclr|mixco)/': (128, 0.3, (0.5,), MOCO),
    r'MixCo, Table 3 mixco/': (256, 0.03, (0.2, 1), MOCO),
    r'SDMP, Table [89] mocov3/vit': (1024, 1.5e-4, (0.2,), IN1K),
    r'SDMP, Table 11 (mocov3/|sdmp/.*mocov3)': (512, 1.5e-4, (0.2,), IN1K),
    r'SDMP, Table 11 (dino/|sdmp/.*dino)': (512, 5e-4, DINO, (*GLOBAL, (8, 96, 0.05, 0.4))),
    r'SDMP, .* sdmp/.*mocov3_extra': (1024, 1.5e-4, (0.2,), ((4, 224, 0.08, 1),)),
    r'(SDMP|PatchMix), .* sdmp/vit.*mocov3': (1024, 1.5e-4, (0.2,), IN1K),
    r'SDMP, Table 10 \w+/.*(0local|global-1-1)': (1024, 5e-4, DINO, GLOBAL),
    r'SDMP, Table 10 \w+/.*(2local|local-1-1)': (1024, 5e-4, DINO, (*GLOBAL, (2, 96, 0.05, 0.4))),
    r'SDMP, Table 10 \w+/.*(6local|local-3-3)': (1024, 5e-4, DINO, (*GLOBAL, (6, 96, 0.05, 0.4))),
    r'SDMP, Table 5 ': (ANY, ANY, ANY, ANY),
    r'SDMP, Table 1 (mocov3|imix|sdmp)/r50': (4096, 0.3, (1,), MOCO),
    r'SDMP, Table 1 swav/vit': (ANY, ANY, (0.1,), ((2, 224, ANY, 1), (6, 96, ANY, ANY))),
    r'SDMP, Table 1 (byol|mocov2)/vit': (4096, ANY, ANY, ANY),
    r'SDMP, Table 1 (imix|dacl|mochi|unmix)/vit': (4096, 1.5e-4, (0.2,), IN1K),
    r'PatchMix, Table 2 dino/.*0local': (1024, 5e-4, DINO, GLOBAL),
    r'(SDMP|PatchMix), .* (dino/|sdmp/.*dino)': (1024, 5e-4, DINO, (*GLOBAL, (8, 96, 0.05, 0.4))),
    r'(SDMP|PatchMix), Table [12] mocov3/vit': (4096, 1.5e-4, (0.2,), IN1K),
    r'APS, .* aps/vit-[sb]16': (4096, 8e-5, (0.1,), IN1K),
    r'APS, .* aps/vit-t2': (512, 1e-3, (0.1,), ((2, 32, 0.15, 1),)),
    r'APS, .* aps/vit-[sb]2': (512, 5e-4, (0.1,), ((2, 32, 0.15, 1),)),
    r'APS, Table 2 ibot/': (512, 5e-4, DINO, ((2, 32, 0.25, 1), (10, 16, 0.05, 0.25))),
    r'APS, Table 2 mocov3/': (ANY, ANY, ANY, ANY),
    # By scripts of SwAV's authors for 256 images (twice the rate per image of that for 4096) and for two crops.
    r'.* swav/r50_in1k$': (256, 0.6, (0.1,), ((2, 224, 0.14, 1), (6, 96, 0.05, 0.14))),
    r'.* swav/r50_in1k_0local': (256, 0.6, (0.1,), ((2, 224, 0.08, 1),)),
    # As MAE's and SimMIM's authors train on ImageNet: APS does not state its own.
    r'APS, .* mae/vit-[sb]16': (4096, 1.5e-4, (), ((1, 224, 0.2, 1),)),
    r'APS, .* mae/vit-[tsb]2': (512, 1.5e-4, (), ((1, 32, 0.2, 1),)),
    r'APS, .* simmim/vit-b16': (2048, 5e-5, (), ((1, 224, 0.67, 1),)),
    r'APS, .* simmim/vit-[tsb]2': (512, 5e-5, (), ((1, 32, 0.67, 1),)),
    # The hosts of BSIM, which MixCo's Table 3 and SDMP's Table 1 also quote.
    r'.* (simclr/|w?bsim/.*simclr)': (256, 0.3, (0.1,), IN1K),
    r'.* mocov1/': (256, 0.03, (0.07,), MOCO),
    r'.* (mocov2/|w?bsim/.*mocov2)': (256, 0.03, (0.2,), MOCO),
    r'.* (byol/|w?bsim/.*byol)': (4096, 0.3, (), IN1K),
    r'.* (simsiam/|w?bsim/.*simsiam)': (256, 0.05, (), MOCO),
}
RATES_OF_TEXTS = {r'SDMP, .* sdmp/vit.*mocov3': 5e-4}
"""Learning rates of papers' texts, set by a second command; the configs have those of the authors' code."""


def temperatures(cfg: Config) -> tuple[float, ...]:
    """Return the temperatures of the objective and its terms, ascending."""
    if 'objective' not in cfg.model:
        return ()
    settings = dict(cfg.model.objective)
    given = dict(InfoNCE=dict(negatives=[]), DINODistillation=dict(num_prototypes=2), SwAV=dict(channels=2))
    objective = LOSSES.build({**settings, **given.get(settings['type'], {})})  # widths do not matter
    own = {name: value for name, value in vars(objective).items() if name.endswith('temperature')}
    own.pop('teacher_temperature', None)  # DINO's moves from one of the others to the next
    options = [dict(term[3]) for term in cfg.model.terms if len(term) > 3]
    return tuple(sorted({*own.values(), *(option['temperature'] for option in options if 'temperature' in option)}))


def crops(cfg: Config) -> tuple:
    """Return the number, pixels and shares of the area of each kind of crop."""
    views = next(step for step in innermost(cfg.train_dataloader.dataset).pipeline if 'transforms' in step)
    counts: dict[tuple, int] = {}
    for number, steps in zip(views.get('num_views', [1, 1]), views.transforms, strict=True):
        crop = next(step for step in steps if step.type.endswith('ResizedCrop'))
        kind = (crop.scale, *crop.crop_ratio_range)
        counts[kind] = counts.get(kind, 0) + number
    return tuple((number, *kind) for kind, number in counts.items())


def agrees(found: Any, stated: Any) -> bool:
    """Whether values are the stated ones, down to each number."""
    if isinstance(stated, tuple):
        return len(found) == len(stated) and all(map(agrees, found, stated))
    return stated is None or found == pytest.approx(stated)


def stated(source: str, config: str, table: Mapping[str, Any]) -> Any:
    return next(value for pattern, value in table.items() if re.match(pattern, f'{source} {config}'))


def test_the_rows_have_the_batches_rates_temperatures_and_crops_of_the_papers() -> None:
    for row in rows():
        cfg = row.composed()
        batch = row.batch()
        found = (batch, cfg.optim_wrapper.optimizer.lr * 256 / batch, temperatures(cfg), crops(cfg))
        for source in row.sources:
            expected = stated(source, row.config, PAPERS)
            if 'optimizer.lr' in row.overrides:
                expected = (expected[0], stated(source, row.config, RATES_OF_TEXTS), *expected[2:])
            assert agrees(found, expected), (source, row.command, found, expected)
