"""docs/mixers.md must list every mixer with its arguments, and its examples must build."""

import inspect
import re
from pathlib import Path

import pytest
import torch

from mixcl.algorithms import StepKey, StreamRecipe
from mixcl.recipes.reading import read_config
from mixcl.registry import MIXERS, PAIRINGS

PAGES = Path(__file__).parents[2] / 'docs'
PAGE = (PAGES / 'mixers.md').read_text()
ROWS, STREAMS, EXAMPLES = re.findall(r'```python\n(.*?)```', PAGE, re.DOTALL)
LISTED = (
    *('Choice', 'CutMix', 'MixMask', 'Mixup', 'OriginalResizeMix', 'PatchMix', 'RegionSwap', 'ResizeMix', 'ScaleMix'),
    'Stitch',
)


@pytest.mark.parametrize('name', LISTED)
def test_the_row_of_a_mixer_names_its_arguments(name):
    (options,) = re.findall(rf'^\| `{name}` \|.+\|(.+)\|[^|]*\|$', PAGE, re.MULTILINE)
    arguments = inspect.signature(MIXERS.get(name)).parameters
    missing = [argument for argument in arguments if f'`{argument}`' not in options]
    assert not missing


def test_every_mixer_and_every_folder_of_a_method_is_listed():
    MIXERS.import_from_location()
    own = {name for name, kind in MIXERS.module_dict.items() if kind.__module__.startswith('mixcl.')}
    assert own == set(LISTED)
    folders = {
        path.parent.name for path in (PAGES.parent / 'configs').glob('[a-z]*/*.py') if 'mix=' in path.read_text()
    }
    assert folders - {'distillation'} == set(re.findall(r'`configs/(\w+)`', PAGE)) - {'mochi', 'wbsim'}


def test_the_rows_of_the_newer_methods_are_those_of_their_configs():
    rows = {}
    exec(ROWS, {}, rows)
    configs = dict(
        mixmask='mixmask/r50_in1k_mocov2',
        scalemix='scalemix/r50_in1k_mocov2',
        mixed_barlow_twins='barlowtwins/r18_cifar10_mixed',
        stitch='stitch/vit-xs4_digits_mocov3',
    )
    assert rows == {name: read_config(config).model.terms for name, config in configs.items()}


def test_every_pairing_is_listed():
    PAIRINGS.import_from_location()
    assert len(PAIRINGS) == 5 and all(f'| `{name}`' in PAGE for name in PAIRINGS.module_dict)


def test_the_examples_build_and_mix():
    examples = {}
    exec(EXAMPLES, {}, examples)
    assert len(examples) == 9
    for config in examples.values():
        mixed, composition = MIXERS.build(config)(torch.randn(6, 3, 32, 32))
        assert len(mixed) == len(composition) == (3 if config is examples['mixco'] else 6)


def test_the_streams_are_built():
    streams = {}
    exec(STREAMS, {}, streams)
    recipe = StreamRecipe(dict(view1=1, view2=1), streams['streams'], None)
    crops = [torch.randn(6, 3, 32, 32)] * 2
    assert {len(stream.images) for stream in recipe.build(crops, set(recipe.names), StepKey(0, 0, 0)).values()} == {6}
