"""tools/benchmark/evidence.py: what its configs share, its rule, its choices and page, and interrupted runs."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from configuration.all_configs import build
from mmengine.config import Config
from scipy import stats
from tools.command import ROOT

from mixcl.engine.runners.dry_run import try_views
from mixcl.recipes.checking import check_config
from mixcl.recipes.subject import default_encoder

sys.path.append(str(ROOT / 'tools/benchmark'))  # as Python does for a script
import evidence
import evidence_page
from evidence_measures import packed, unpacked
from evidence_methods import METHODS, ROWS, evidence_config
from evidence_statistics import NAMED, difference
from evidence_tables import Pair, Run, Table, choices, wanted

sys.path.pop()  # for these imports alone

TRAINED = [name for name, method in METHODS.items() if not method.baseline]
SHARED = ('param_scheduler', 'val_dataloader', 'val_cfg', 'data_preprocessor')


def config_of(
    method: str, data: str = 'digits', epochs: int = 200, held_out: bool = False, **settings: float
) -> Config:
    return evidence_config(method, data, epochs, settings, held_out)


@pytest.mark.parametrize('method', TRAINED)
def test_a_method_differs_from_its_host_in_its_rows_alone(method: str) -> None:
    cfg = config_of(method)
    assert {name for name, _ in METHODS[method].chosen} <= {'temperature', 'rate', 'fine_tuning_rate'}
    check_config(cfg)
    model = build(cfg)
    if method in ('mocov3', 'aps_patch2', 'patchmix_regionswap'):  # others share views with these
        try_views(cfg, model)
    host = METHODS[method].host
    encoder = 'online' if METHODS[method].backbone == 'resnet' else 'target'
    assert default_encoder(cfg.config_name, cfg.model.backbone) == encoder
    if host:
        own, other = cfg.to_dict(), config_of(host).to_dict()
        differing = {key for key in own['model'] | other['model'] if own['model'].get(key) != other['model'].get(key)}
        assert differing and differing <= {*ROWS}
        for part in (*SHARED, 'train_dataloader', 'optim_wrapper'):
            assert own[part] == other[part], part


@pytest.mark.parametrize(('data', 'train', 'held_out'), [('digits', 1150, 287), ('fashionmnist5000', 4000, 1000)])
def test_held_out_images_are_neither_trained_nor_tested_on(data: str, train: int, held_out: int) -> None:
    cfg = config_of('mocov3', data, held_out=True)
    learnt, bank, queries = (
        part.dataset for part in (cfg.train_dataloader.dataset, cfg.val_cfg.bank_dataloader, cfg.val_dataloader)
    )
    assert learnt.split == bank.split == queries.split == 'train' and learnt.indices == bank.indices == train
    assert queries.indices == [*range(train, train + held_out)]
    final = config_of('mocov3', data)
    assert final.train_dataloader.dataset.dataset.indices == train + held_out
    assert final.val_dataloader.dataset.split == 'test' and final.val_dataloader.dataset.get('indices') is None


def test_settings_reach_what_they_are_of() -> None:
    assert config_of('sdmp_mocov3', temperature=0.6).model.objective.temperature == 0.6
    terms = config_of('mixco_mocov2', temperature=0.4).model.terms
    assert terms[1][3]['temperature'] == pytest.approx(0.1), 'in its ratio to .2'
    assert config_of('byol', rate=0.12).optim_wrapper.optimizer.lr == pytest.approx(0.03)  # batches of 64
    assert config_of('aps_patch2', rate=0.004).optim_wrapper.optimizer.lr == pytest.approx(0.001)
    for epochs, momentum in ((200, 0.97), (450, 1 - 132 / 9900)):
        assert config_of('patchmix', epochs=epochs).model.target.momentum == pytest.approx(momentum)
    aps = config_of('aps_patch2')
    assert aps.model.target.type == 'StopGrad' and aps.model.backbone.patch_size == 2
    assert not [hook for hook in aps.custom_hooks if hook['type'] == 'AdaptiveClipHook']


def test_the_interval_is_that_of_seeds_and_of_images_and_draws() -> None:
    def right(share: float, seed: int, draws: int, images: int) -> dict[str, np.ndarray]:
        return dict(nearest=np.random.default_rng(seed).random((draws, images)) < share)

    nothing = dict(nearest=np.zeros((1, 100), bool))
    seeds = [dict(nearest=np.ones((1, 100), bool) * (np.arange(100) < 0)) for _ in range(3)]
    assert difference(seeds, [nothing] * 3, 'nearest')[:3] == (0, 0, 0)
    # All images alike: the interval of a t-test of the seeds.
    gain = difference([dict(nearest=np.ones((1, 100), bool)), nothing, nothing], [nothing] * 3, 'nearest')
    low, high = stats.t.interval(0.95, 2, loc=100 / 3, scale=stats.sem([100, 0, 0]))
    assert gain.low == pytest.approx(low) and gain.high == pytest.approx(high) and gain.verdict == 'not told apart'
    # All seeds alike: the variance of a mean over images.
    one = right(0.7, 5, 1, 4000)
    gain = difference([one] * 2, [dict(nearest=np.zeros((1, 4000), bool))] * 2, 'nearest')
    expected = stats.t.ppf(0.975, 1) * 100 * one['nearest'].std() / 4000**0.5
    assert gain.high - gain.mean == pytest.approx(expected, rel=0.06) and gain.verdict == 'better'
    assert difference([one], [one], 'nearest').verdict == 'one seed'


def test_the_named_measure_is_the_mean_over_numbers_of_labels_and_shares_draws() -> None:
    random = np.random.default_rng(1)
    own, host = (
        {f'few{shot}_logistic': random.random((draws, 30)) < 0.5 for shot in (1, 2, 5, 20)} for draws in (7, 3)
    )
    expected = 100 * (np.mean([own[name][:3] for name in own]) - np.mean([*host.values()]))
    assert difference([own], [host], NAMED).mean == pytest.approx(expected)


def test_answers_are_stored_bit_by_bit() -> None:
    right = dict(few1_logistic=np.random.default_rng(0).random((40, 361)) < 0.8, nearest=np.ones((1, 361), bool))
    found = unpacked(json.loads(json.dumps(packed(right))))
    assert all(np.array_equal(found[name], right[name]) for name in right) and len(found) == 2


def result(run: Run, share: float, seed: int = 0) -> dict:
    """Return a result as if a run had classified this share of 50 images correctly."""
    random = np.random.default_rng(seed)
    right = {f'few{shot}_logistic': random.random((4, 50)) < share for shot in (1, 2, 5, 20)}
    right['nearest'] = random.random((1, 50)) < share
    return dict(
        name=run.name, key=run.key(), seconds=3600, steps=4400, encoder='target',
        accuracies={name: {NAMED: 100 * share, 'tuned': 100 * share} for name in ('online', 'target')},
        settings=run.settings,
        answers={} if run.held_out else dict(target=packed(right)),
    )  # fmt: skip


def done_in_order(table: Table, share: float = 0.8, best: float = 0.4) -> dict[str, dict]:
    """Return results of all runs of a table; held-out runs with the setting ``best`` are better than others."""
    found: dict[str, dict] = {}
    while run := next(wanted((table,), found), None):
        chosen = run.held_out and run.settings[-1][1] == best
        found[run.key()] = result(run, share + 0.1 * (run.method == 'patchmix') + 0.05 * chosen, run.seed)
    return found


TABLE = Table('Mixing', (Pair('patchmix', 'mocov3', 9 / 8, 'kNN +4.8 (T3)'),), seeds=3)


def test_settings_are_chosen_on_held_out_images_before_anything_is_judged() -> None:
    first = [run for run in wanted((TABLE,), {}) if run.method == 'mocov3']
    assert [dict(run.settings)['temperature'] for run in first] == [0.1, 0.2, 0.4, 0.6, 1.0]
    assert all(run.held_out and run.epochs == 200 for run in first)
    found = done_in_order(TABLE)
    assert choices('patchmix', found) == ((('temperature', 0.4),), []) == choices('patchmix_m2', found)
    run = TABLE.run('mocov3', 9 / 8, 1, found)
    assert run and run.name == 'mocov3-temperature0.4-digits-225e-s1' and run.key() in found
    seeds = {run.seed for run in wanted((TABLE,), {key: one for key, one in found.items() if 'held_out' in key})}
    assert seeds == {0, 1, 2}


def test_a_rate_that_all_methods_have_is_no_setting_of_one() -> None:
    found = done_in_order(Table('APS', (Pair('aps_patch2', 'mocov3_patch2'),), seeds=1))
    assert choices('mocov3_patch2', found)[0] == (('temperature', 0.4), ('fine_tuning_rate', 3e-4))
    assert choices('aps_patch2', found)[0] == (('rate', 1e-3), ('temperature', 0.4), ('fine_tuning_rate', 3e-4))


def test_the_page_and_its_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence_page, 'TABLES', (TABLE,))
    found = done_in_order(TABLE)
    evidence_page.write(tmp_path, found)
    text = (tmp_path / 'evidence.md').read_text()
    assert '2 verdicts' in text and 'kNN +4.8 (T3) |' in text and (tmp_path / 'mixing.png').stat().st_size > 5000
    of_host = '| mocov3, 1.125 x epochs | temperature 0.4 | target'
    (line,) = [line for line in text.splitlines() if line.startswith(of_host)]
    assert line.startswith(f'{of_host} | 3 | 80.0 ± 0.0 |') and line.endswith('| 4400 | 1.00 |  |')
    # Three seeds each of two methods, random and scratch; three baselines with one seed.
    assert '| Mixing | 15 | 15 |' in text
    (gains,) = [line for line in text.splitlines() if line.startswith('| patchmix | mocov3, 1.125 x epochs | 3 |')]
    assert float(gains.split('|')[4].split()[0]) == pytest.approx(10, abs=5)
    # The line of a method names the baselines that are above it, by measure.
    pixels = TABLE.run('pixels', 1, 0, found)
    found[pixels.key()] = result(pixels, 0.95)
    lines = evidence_page.write(tmp_path, found).read_text().splitlines()
    (line,) = [line for line in lines if line.startswith('| patchmix | temperature 0.4 | target | 3 | 90.0 ± 0.0 |')]
    assert line.endswith('| 1-20 labels: pixels; 1-20 labels fine-tuned: pixels |')
    # Only pairs with both parts done are shown.
    left = {key: one for key, one in found.items() if 'mocov3-temperature0.4-digits-225e-s2' not in key}
    assert len(left) == len(found) - 1 and '## Mixing' not in evidence_page.write(tmp_path, left).read_text()


WHOLE = '{"key": "a", "settings": [], "seconds": 1, "encoder": "online", "accuracies": {"online": {"few": 1}}, '


@pytest.mark.parametrize(
    'text',
    [
        *('{', '{"key": "a"}', WHOLE + '"answers": {"online": {"few": [1, 2, "!"]}}}'),
        WHOLE + '"answers": {"target": {}}}',
    ],
)
def test_damaged_results_count_as_not_done(text: str, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    state = evidence.State(tmp_path)
    (state.results / 'a.json').write_text(text)
    assert state.found() == {} and 'a.json is damaged and counts as not done' in capsys.readouterr().err


def test_a_run_that_another_process_does_is_left_to_it(tmp_path: Path) -> None:
    state, run = evidence.State(tmp_path), Run('pixels', 'digits', 2)
    with state.taken(run) as ours, evidence.State(tmp_path).taken(run) as other:
        assert ours and not other
    (state.results / f'{run.name}.json').write_text(json.dumps(result(run, 0.5)))
    with state.taken(run) as ours:
        assert not ours, 'it is done'


SMALL = """
import runpy, sys
sys.path.insert(0, 'tools/benchmark')
import evidence_measures, evidence_tables, evidence_methods
from dataclasses import replace
from evidence_tables import Pair, Table
evidence_measures.FINE_TUNING_STEPS = 2
evidence_tables.EPOCHS['digits'] = 2
evidence_tables.TABLES = (Table('Tiny', (Pair('aps_patch2', 'mocov3'),), seeds=1),)
for name in ('aps_patch2', 'mocov3', 'scratch', 'pca', 'isomap'):
    method = evidence_methods.METHODS[name]
    evidence_methods.METHODS[name] = replace(
        method, chosen=tuple((setting, values[-1:]) for setting, values in method.chosen)
    )
runpy.run_path('tools/benchmark/evidence.py', run_name='__main__')
"""


@pytest.mark.long
def test_a_small_table_from_its_choices_to_its_page(tmp_path: Path) -> None:
    def command(minutes: float) -> int:
        words = [sys.executable, '-c', SMALL, '--minutes', minutes, '--out', tmp_path]
        return subprocess.run([*map(str, words)], cwd=ROOT, check=False, timeout=800).returncode

    assert command(2.05) == 85, 'the time of a run is that of a step or two'
    assert command(60) == 0
    results = [json.loads(file.read_text()) for file in (tmp_path / 'results').glob('*.json')]
    trained = {one['name']: one for one in results if one.get('steps')}
    assert {one['steps'] for one in trained.values()} == {34, 44, 136, 176}
    assert all(30 < one['accuracies'][one['encoder']][NAMED] < 100 for one in trained.values()), trained
    (alike, tuned) = (
        trained[f'aps_patch2-rate0.004-temperature1-{name}digits-2e-held_out-s0']['accuracies']['online']
        for name in ('', 'fine_tuning_rate0.003-')
    )
    assert tuned == alike | dict(tuned=tuned['tuned']), 'one training, and its fine-tuning'
    text = (tmp_path / 'evidence.md').read_text()
    assert '## Tiny' in text and '| aps_patch2 | mocov3 | 1 |' in text.replace(' x epochs', '')
    assert command(60) == 0, 'nothing is left'
