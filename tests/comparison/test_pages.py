"""One page for runs of a comparison and for runs that exist: what stands beside what, links, and what is missing."""

import json
import re
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pytest
from visualization.test_report import Page, start

from mixcl.comparison.comparing import RESOLVED
from mixcl.comparison.existing import beside, report
from mixcl.comparison.page import write
from mixcl.comparison.running import jobs_of
from mixcl.comparison.state import Result, State
from mixcl.comparison.table import read_table
from mixcl.errors import UserError
from mixcl.visualization.report.run_record import RunRecord

NAMES = 'first', 'second', '<b>&"third#?'


def logged(folder: Path, seed: int, lr: float = 0.5, data: str | None = None) -> Path:
    """Write what a run leaves that has a seed, a learning rate, and images."""
    start(folder, '1', *range(1, 10))
    path = folder / '1/vis_data/config.py'
    text = re.sub(r'randomness = dict\(.*?\)', f'randomness = dict(seed={seed})', path.read_text(), flags=re.S)
    text = text if 'randomness = ' in text else f'{text}\nrandomness = dict(seed={seed})\n'
    images = '' if data is None else f'train_dataloader = dict(dataset=dict(type="ImageFolder", data_root={data!r}))\n'
    path.write_text(f'{text}\noptim_wrapper = dict(optimizer=dict(type="SGD", lr={lr}))\n{images}')
    return folder


def evaluated(folder: Path, data: str, *values: float) -> None:
    """Write results by kNN, of the target encoder and perhaps of the online one, which is that of an unknown method."""
    rows = [
        dict(
            checkpoint=dict(path='a.pth', sha256='0', config_name='a/b', epoch=9), encoder=encoder, data=data,
            protocol=dict(name='knn'), config=dict(path='knn.py', sha256='1'), overrides={}, precision='fp32', paper=[],
            seed=0, metrics=dict(knn20_top1=value), best={},
        )
        for encoder, value in zip(('target', 'online'), values, strict=False)
    ]  # fmt: skip
    (folder / 'results.json').write_text(json.dumps(rows))


@pytest.fixture
def compared(tmp_path: Path) -> Path:
    """A finished comparison of three runs, two seeds and raw pixels, one of whose runs has a report."""
    runs = {name: dict(config='mocov3/vit-xs4_digits', epochs=9, lr=0.1 + number) for number, name in enumerate(NAMES)}
    options = dict(seeds=2, measures=['knn'], named='knn', baselines=['pixels'], equal='epochs')
    table, state = read_table(runs, **options), State(tmp_path)
    table.write(tmp_path / RESOLVED)
    for number, job in enumerate(jobs_of(table, state)):
        right = np.random.default_rng(number).random((1, 50)) < 0.5
        state.write(Result(job.name, job.seed, job.settings, dict(knn=right), {}, dict(steps=9, passes=[2, 2])))
        if job.run is not None:
            logged(job.folder, job.seed, job.run.lr)
            with state.taken(job.name, job.seed) as ours:
                assert ours
    next(iter(state.runs.glob('first-0'))).joinpath('report.html').write_text('')
    write(table, state, {})
    return tmp_path


def test_a_comparison_links_its_runs_and_says_what_differs(compared: Path) -> None:
    page = Page(compared / 'compare.html')
    assert page.of('h2') == ['Comparison', 'Settings that differ', 'Curves', 'Runs']
    links = [found['href'] for tag, found in page.elements if tag == 'a' and not found['href'].startswith('#')]
    places = [compared / unquote(link) for link in links]
    assert (
        len(places) == 6
        and all(place.exists() for place in places)
        and not any(map(Path.is_absolute, map(Path, links)))
    )
    assert [place.name == 'report.html' for place in places] == [True] + 5 * [False]
    assert f'{NAMES[2]}, seed 1' in ''.join(page.of('a')) and 'b' not in {tag for tag, _ in page.elements}
    stored = json.loads((compared / 'compare.json').read_text())
    assert stored['settings'] == {'optim_wrapper.optimizer.lr': dict(zip(NAMES, (0.1, 1.1, 2.1), strict=True))}


def test_the_page_is_made_again_and_answers_to_images_count_beside_other_runs(compared: Path) -> None:
    files = {name: (compared / name).read_text() for name in ('compare.md', 'compare.json')}
    for folders in ([compared], [*compared.glob('runs/*')]):
        for name in files:
            (compared / name).unlink()
        assert report(folders) == compared / 'compare.html'
        assert {name: (compared / name).read_text() for name in files} == files
    some = report([*compared.glob('runs/first*'), *compared.glob('runs/second*')], compared / 'some.html')
    difference = next(line for line in files['compare.md'].split('\n') if line.startswith('| second | first |'))
    assert difference.split(' | ')[2].rstrip(' |') in Page(some).of('td'), 'by the answers to every image'
    with pytest.raises(UserError, match='is a comparison, whose page shows no images'):
        report([compared], source='folder:photos')


def test_a_result_of_other_settings_is_named(compared: Path) -> None:
    path = next(compared.glob('results/second-1.json'))
    stored = json.loads(path.read_text())
    path.write_text(json.dumps(stored | dict(settings=stored['settings'] | dict(lr=7))))
    report([compared])
    text = (compared / 'compare.md').read_text()
    assert 'Failed: second, seed 1: its stored result is of other settings' in text


def test_runs_that_differ_in_the_seed_alone_are_one_row_and_other_images_another_column(tmp_path: Path) -> None:
    """Differences are those of seeds that both have; a run without results has a row, and one of its name a path."""
    for seed in (0, 1, 2):
        evaluated(logged(tmp_path / f'plain-{seed}', seed), 'digits', 60 + seed)
    for seed in (0, 1):
        evaluated(logged(tmp_path / f'other-{seed}', seed, lr=0.1), 'digits', 20, 63 + 3 * seed)
    evaluated(logged(tmp_path / 'a/run', 0, data='photos'), 'folder:photos', 90)
    logged(tmp_path / 'b/run', 0, data='pictures')
    labels = [*(f'plain-{seed}' for seed in (0, 1, 2)), 'a/run', 'b/run', 'other-0', 'other-1']
    comparison = beside([RunRecord(tmp_path / label, label) for label in labels])
    assert comparison.accuracy_rows() == [
        ['', 'kNN, digits', 'kNN, folder:photos', 'kNN of the target encoder, digits', 'seeds', 'steps', 'minutes'],
        ['plain', '61.0 ± 1.0', '', '', '3', '9', '9.0'],
        ['a/run', '', '90.0', '', '1', '9', '9.0'],
        ['b/run', '', '', '', '1', '9', '9.0'],
        ['other', '64.5 ± 2.1', '', '20.0 ± 0.0', '2', '9', '9.0'],
    ]
    assert comparison.settings['train_dataloader.dataset.data_root'] == {
        'plain': None, 'a/run': 'photos', 'b/run': 'pictures', 'other': None,
    }  # fmt: skip
    ((pair, gains),) = comparison.differences.items()
    assert pair == ('other', 'plain') and gains['knn@digits'].by_seed == pytest.approx((3, 5)) and len(gains) == 1
