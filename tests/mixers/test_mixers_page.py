"""docs/mixers.md must list every mixer with its arguments, and its examples must build."""

import inspect
import re
from pathlib import Path

import pytest
import torch

from mixcl.registry import MIXERS, PAIRINGS

PAGE = (Path(__file__).parents[2] / 'docs' / 'mixers.md').read_text()
(EXAMPLES,) = re.findall(r'```python\n(.*?)```', PAGE, re.DOTALL)
LISTED = ['Choice', 'CutMix', 'Mixup', 'OriginalResizeMix', 'PatchMix', 'RegionSwap', 'ResizeMix']


@pytest.mark.parametrize('name', LISTED)
def test_the_row_of_a_mixer_names_its_arguments(name):
    (options,) = re.findall(rf'^\| `{name}` \|.+\|(.+)\|[^|]*\|$', PAGE, re.MULTILINE)
    arguments = inspect.signature(MIXERS.get(name)).parameters
    missing = [argument for argument in arguments if f'`{argument}`' not in options]
    assert not missing


def test_every_pairing_is_listed():
    PAIRINGS.import_from_location()
    assert len(PAIRINGS) == 4 and all(f'| `{name}`' in PAGE for name in PAIRINGS.module_dict)


def test_the_examples_build_and_mix():
    examples = {}
    exec(EXAMPLES, {}, examples)
    assert len(examples) == 7
    for config in examples.values():
        mixed, composition = MIXERS.build(config)(torch.randn(6, 3, 32, 32))
        assert len(mixed) == len(composition) == (3 if config is examples['mixco'] else 6)
