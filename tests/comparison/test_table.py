"""What is compared, as words, as settings and as a file."""

from pathlib import Path

import pytest

from mixcl.comparison.table import Run, read_table
from mixcl.errors import UserError

TABLE = """
from pathlib import Path
_length = 5
data = 'photos'
epochs = _length
runs = dict(frame=dict(config='patchmix', options={'model.terms': [('view1', 'view2', 1.0)]}), ours=dict(
    config='patchmix', epochs=10))
seeds = 2
"""


def test_words_name_configs_and_override_values() -> None:
    table = read_table(['patchmix/vit-xs4_digits', "mocov3 model.objective.temperature=0.4 views.view1.crop='[.5,1]'"])
    first, second = table.runs.values()
    assert first == Run('patchmix/vit-xs4_digits') and second.config == 'mocov3'
    assert second.options == {'model.objective.temperature': 0.4, 'views.view1.crop': [0.5, 1]}
    assert table.images == 'digits' and table.compared == [([*table.runs][1], 'patchmix/vit-xs4_digits')]


def test_a_file_says_settings_of_all_runs_and_options_replace_them(tmp_path: Path) -> None:
    path = tmp_path / 'ours.py'
    path.write_text(TABLE)
    table = read_table(str(path), batch_size=4, seeds=3)
    assert [run.epochs for run in table.runs.values()] == [5, 10] and table.seeds == 3
    assert {(run.data, run.batch_size) for run in table.runs.values()} == {('photos', 4)}
    assert table.compared == [('ours', 'frame')] and table.images == 'folder:photos'
    written = tmp_path / 'table.py'
    table.with_epochs(dict(frame=7, ours=3)).write(written)
    again = read_table(str(written))
    assert [run.epochs for run in again.runs.values()] == [7, 3] and again.equal == 'epochs'
    assert again.runs['frame'].options == {'model.terms': [('view1', 'view2', 1.0)]}


@pytest.mark.parametrize(
    ('given', 'message'),
    [
        (dict(runs=['patchmixx']), "no method 'patchmixx'"),
        (dict(runs=[]), 'runs is missing'),
        (dict(runs=['patchmix', 'patchmix']), "'patchmix' is named twice"),
        (dict(runs=["mocov3 'oops"]), 'cannot be read as a name and overrides'),
        (dict(runs=dict(pca=dict(config='patchmix'))), "called 'pca'"),
        (dict(runs=['patchmix randomness.seed=3']), 'seeds and lengths are those of the comparison'),
        (dict(runs=['patchmix'], batch_size=0), 'batch_size=0 must be'),
        (dict(runs=['patchmix'], measures=['knn', 'found_again'], named='knn'), "measures has no 'found_again'"),
        (dict(runs=dict(a=dict(config='patchmix', epoch=3))), "runs.a has no 'epoch'; did you mean 'epochs'"),
        (dict(runs=['patchmix'], seed=3), "'seed'; did you mean 'seeds'"),
        (dict(runs=['patchmix'], seeds=0), 'seeds'),
        (dict(runs=['patchmix'], measures=['kn']), "measures has no 'kn'"),
        (dict(runs=['patchmix'], measures=['knn']), "named='few_labels' is none of the measures knn"),
        (dict(runs=['patchmix'], pairs=[['patchmix', 'b']]), "pairs has no 'b'"),
        (dict(runs=['patchmix'], choices=dict(a={'optimizer.lr': [1, 2]})), "choices has no 'a'"),
        (
            dict(runs=['patchmix'], choices=dict(patchmix={'optimizer.lr': [1]})),
            'lr=[1] must be a list of two',
        ),
        (dict(runs=['patchmix'], choices=dict(patchmix=[1, 2])), 'must be a list of two values'),
        (dict(runs=['patchmix'], choices=dict(patchmix={'schedule.epochs': [1, 2]})), 'seeds and lengths are those'),
        (dict(runs=['patchmix batch=64']), 'write batch_size'),
        (
            dict(runs=['patchmix/vit-xs4_digits'], choices={'patchmix/vit-xs4_digits': {'optimizer.lr': [1, 2]}}),
            "give held_out={'digits': ...}",
        ),
        (dict(runs=['patchmix'], baselines=['pixel']), "did you mean 'pixels'"),
    ],
)
def test_slips_are_told(given: dict, message: str) -> None:
    with pytest.raises(UserError) as refused:
        read_table(**given)
    assert message in str(refused.value)


def test_a_measure_may_name_its_data_set() -> None:
    table = read_table(['patchmix/vit-xs4_digits'], measures=['knn', 'twins@emoji_twins', 'few_labels'], data_root='x')
    assert table.by_data == {'digits': ['knn', 'few_labels'], 'emoji_twins': ['twins@emoji_twins']}
    assert table.roots('emoji_twins') == {'emoji_twins': 'x'}


def test_a_file_with_a_fault_is_told_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / 'bad.py').write_text('runs = 1 / 0')
    with pytest.raises(UserError, match='cannot be read: ZeroDivisionError'):
        read_table(str(tmp_path / 'bad.py'))
