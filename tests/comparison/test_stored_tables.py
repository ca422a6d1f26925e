"""examples/compare_*.py: what was published comes out of their stored results, without training."""

import json
import re
from pathlib import Path

import pytest
from tools.command import ROOT

from mixcl import compare
from mixcl.comparison.page import comparison_of
from mixcl.comparison.state import State
from mixcl.comparison.table import Table, read_table

PUBLISHED = {
    ('patchmix', 'frame'): '+6.3 [+4.8, +7.8] better | +1.2 [-0.9, +3.4] not told apart | +0.9 [-1.8, +3.7]',
    ('patchmix', 'frame_longer'): '+5.2 [+3.7, +6.8] better | -0.3 [-2.1, +1.5] not told apart | -0.1 [-2.1, +2.0]',
    ('patchmix', 'mocov3'): '+2.1 [+0.8, +3.4] better | -0.5 [-2.0, +1.0] not told apart | -0.0 [-2.1, +2.1]',
    ('sdmp', 'mocov3_longer'): '+2.5 [+1.0, +4.0] better | -0.4 [-1.7, +0.8] not told apart | +0.4 [-1.6, +2.5]',
    ('resizemix', 'unmixed'): '+1.8 [+0.2, +3.4] better | -0.9 [-4.5, +2.7] not told apart',
    ('two_images', 'unmixed'): '+2.6 [+0.8, +4.4] better | -1.2 [-4.3, +1.8] not told apart',
    ('mixture_to_mixture', 'frame'): '-9.5 [-18.1, -1.0] worse | -12.1 [-20.8, -3.4] worse',
    ('third', 'mocov3'): '+3.2 [+0.8, +5.7] better | -1.4 [-4.9, +2.1] not told apart',
    ('scalemix', 'mocov3'): '+5.6 [+3.5, +7.7] better | +0.0 [-1.9, +1.9] not told apart | +1.5 [-1.9, +4.9] not told',
    ('weights_1_1_3', 'patchmix'): '-4.0 [-6.6, -1.3] worse | -2.8 [-6.3, +0.7] not told apart',
    ('bsim_byol', 'byol'): '+6.5 [+1.9, +11.1] better | +1.2 [-2.0, +4.4] not told apart',
    ('mixco_mocov2_slow', 'mocov2_slow'): '+3.2 [-1.2, +7.6] not told apart | +3.1 [-3.8, +10.1] not told apart',
    ('dino_patches', 'dino'): '+1.7 [-6.4, +9.8] not told apart',
    ('aps', 'mocov3_patch2'): '+1.1 [-4.6, +6.8] not told apart | -1.8 [-5.5, +2.0] not told apart',
}
"""Differences in few labels, 1-NN and the linear probe, as the project's pages have them."""


_STORED = [path.name.partition('.')[0] for path in (ROOT / 'examples').glob('*.json.xz')]
TABLES = {name: read_table(str(ROOT / f'examples/{name}.py')) for name in _STORED}
"""Tables with stored results, by file."""
DIGITS = TABLES['compare_digits']


@pytest.fixture(scope='module')
def state(tmp_path_factory: pytest.TempPathFactory) -> State:
    return State(tmp_path_factory.mktemp('digits'), DIGITS.results)


@pytest.fixture(scope='module')
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[list[str]]]:
    return {name: rows_of(table, State(tmp_path_factory.mktemp(name), table.results)) for name, table in TABLES.items()}


def rows_of(table: Table, state: State) -> list[list[str]]:
    comparison = comparison_of(table, state, {})
    seeds = dict.fromkeys(table.baselines, 1) | {name: run.seeds or table.seeds for name, run in table.runs.items()}
    assert {name: len(results) for name, results in comparison.found.items()} == seeds, 'nothing is left to train'
    return [*comparison.accuracy_rows(), *comparison.difference_rows()]


def test_published_numbers_come_out_to_the_last_digit(rows: dict[str, list[list[str]]], state: State) -> None:
    cells = {(row[0], row[1]): ' | '.join(row[2:]) for row in rows['compare_digits']}
    assert {pair: cells[pair][: len(text)] for pair, text in PUBLISHED.items()} == PUBLISHED
    assert cells['aps', 'mocov3_patch2'].endswith('+1.7 [-5.3, +8.7] not told apart')
    isomap = state.read('isomap', 0, dict(choice=dict(neighbours=10, components=5)))
    assert round(isomap.accuracy('few_labels'), 1) == 83.3


def test_a_stored_table_is_printed_without_its_images(tmp_path: Path) -> None:
    done = compare(ROOT / 'examples/compare_segment.py', tmp_path / 'out')
    assert not list((tmp_path / 'out/runs').iterdir()) and '| patches | patchmix | +13.9 [+6.5, +21.3]' in done.text


@pytest.mark.parametrize(('page', 'begin'), [('README.md', '\n## Results'), ('docs/results.md', '\n## ')])
def test_numbers_in_tables_of_pages_are_those_of_comparisons(
    page: str, begin: str, rows: dict[str, list[list[str]]]
) -> None:
    text = (ROOT / page).read_text().partition(begin)[2].partition('\n## Further')[0]
    shown = ' '.join(line for line in text.splitlines() if line.startswith('|'))
    cells = ' '.join(cell for table in rows.values() for row in table for cell in row)
    numbers, made = (set(re.findall(r'[-+]?\d+\.\d', words)) for words in (shown, cells))
    assert len(numbers) > 5 and numbers <= made, numbers - made


def test_settings_are_those_that_were_best_on_held_out_images(state: State) -> None:
    chosen = {}
    for name, run in DIGITS.runs.items():
        stored = [json.loads(line) for line in state.stored[name, 0]]
        tried = [one for one in stored if 'held_out' in one['settings'] and 'few_labels' in one['accuracies']]
        if tried:
            best = max(tried, key=lambda one: one['accuracies']['few_labels'])
            options = {'optimizer.lr': run.options.get('optimizer', {}).get('lr')} | run.options
            chosen[name] = best['settings']['choice'].items() <= options.items()
    assert len(chosen) == 21 and all(chosen.values()), chosen  # others have those of PatchMix, MoCo v3 or their config
