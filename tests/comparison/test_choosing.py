"""Settings are chosen one after the other, by the named measure on held-out images."""

from pathlib import Path

import numpy as np
import pytest

from mixcl.comparison.choosing import with_choices
from mixcl.comparison.running import jobs_of
from mixcl.comparison.state import Result, State
from mixcl.comparison.table import Table, read_table
from mixcl.errors import UserError

TEMPERATURE, RATE = 'model.objective.temperature', 'optimizer.lr'
SCORES = {
    f'ours {TEMPERATURE}=0.1': 30,
    f'ours {TEMPERATURE}=0.2': 70,
    f'ours {TEMPERATURE}=0.4': 50,
    f'ours {RATE}=0.001': 90,
    f'host {TEMPERATURE}=0.1': 40,
}


def performing(trials: list[Table]) -> object:
    """Return what takes the place of training: results with :data:`SCORES`; what has none fails."""

    def perform(table: Table, folder: Path) -> dict[str, str]:
        trials.append(table)
        state = State(folder)
        for job in jobs_of(table, state):
            if job.name in SCORES:
                right = np.arange(100)[None] < SCORES[job.name]
                state.write(Result(job.name, job.seed, job.settings, {table.named: right}, {}, {}))
        return {}

    return perform


@pytest.fixture(autouse=True)
def held_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ('held.py', 'twins.py'):
        Path(name).write_text("_base_ = 'mixcl::_base_/data/digits.py'\n")


def table(**choices: dict) -> Table:
    runs = {name: dict(config='mocov3/vit-xs4_digits', options={RATE: 0.5}) for name in choices}
    return read_table(
        runs, choices=choices, held_out=dict(digits='held.py', emoji_twins='twins.py'), measures=['knn'], named='knn'
    )


def test_winners_stand_in_the_options_of_the_next_choice_and_of_the_result(tmp_path: Path) -> None:
    trials: list[Table] = []
    ours = {TEMPERATURE: [0.1, 0.2, 0.4], RATE: [0.001, 0.002]}
    chosen = with_choices(table(ours=ours, host={TEMPERATURE: [0.1, 0.2, 0.4]}), tmp_path, performing(trials))
    assert chosen.runs['ours'].options == {TEMPERATURE: 0.2, RATE: 0.001}
    assert chosen.runs['host'].options == {TEMPERATURE: 0.1, RATE: 0.5}
    assert not chosen.choices and chosen.runs['ours'].data is None and chosen.seeds == 3
    first, second = trials
    assert {run.data for run in first.runs.values()} == {'held.py'} and first.images == 'held.py' and first.seeds == 1
    assert {run.options[TEMPERATURE] for run in second.runs.values()} == {0.2}, 'the winner of before'
    tried = ' '.join(chosen.tried)
    assert f'ours {TEMPERATURE}=0.2, of 0.1 (30.0), 0.2 (70.0), 0.4 (50.0) by knn on held.py, one seed' in tried
    assert (
        f'host {TEMPERATURE}=0.1, at the edge of what was offered, of 0.1 (40.0), 0.2 (failed), 0.4 (failed)' in tried
    )
    assert 'trained on held.py' in tried


def test_a_measure_on_its_own_data_set_is_taken_on_the_held_out_part_of_that(tmp_path: Path) -> None:
    trials: list[Table] = []
    given = read_table(
        dict(ours=dict(config='mocov3/vit-xs4_digits')), choices=dict(ours={TEMPERATURE: [0.1, 0.2]}),
        held_out=dict(emoji_twins='twins.py'), measures=['knn', 'twins@emoji_twins'], named='twins@emoji_twins',
    )  # fmt: skip
    with_choices(given, tmp_path, performing(trials))
    assert trials[0].by_data == {'twins.py': ['twins@twins.py']}
    assert [run.data for run in trials[0].runs.values()] == [None, None], 'digits are trained on as they are'


def test_values_may_be_lists_and_what_cannot_work_is_told_before_the_first_trial(tmp_path: Path) -> None:
    rows = [[('view1', 'view2', 1.0)], [('view1', 'view2', 1.0), ('view2', 'view1', 1.0)]]
    trials: list[Table] = []
    with pytest.raises(UserError, match=r'no model\.terms of ours could be measured'):
        with_choices(table(ours={'model.terms': rows}), tmp_path, performing(trials))
    assert [run.options['model.terms'] for run in trials.pop().runs.values()] == rows
    with pytest.raises(UserError, match='temperature'):
        with_choices(table(ours={RATE: [1e-3, 1e-2], TEMPERATURE: [0.1, -1]}), tmp_path, performing(trials))
    assert not trials


def test_a_setting_of_which_nothing_can_be_measured_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=f'no {TEMPERATURE} of nobody could be measured'):
        with_choices(table(nobody={TEMPERATURE: [0.3, 0.5]}), tmp_path, performing([]))
