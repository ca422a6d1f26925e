"""A comparison as a command: from runs to the page, killed, repeated, and shared by processes."""

import json
import signal
import time
from pathlib import Path

import pytest
from evaluation.segmented import masked_folder
from tools.command import run, start

from mixcl.comparison.lengths import with_lengths
from mixcl.comparison.state import State
from mixcl.comparison.table import read_table
from mixcl.errors import UserError

CONFIGS = 'patchmix/vit-xs4_digits', 'mocov3/vit-xs4_digits'
QUICK = ('--measures', 'knn', '--named', 'knn', '--baselines', 'pixels', '--epochs', 2, '--batch-size', 256)


def test_equal_passes_give_a_run_of_fewer_passes_more_epochs(tmp_path: Path) -> None:
    """PatchMix sees three crops with gradient and two without, its frame one and one."""
    words = [CONFIGS[0], f"{CONFIGS[0]} model.terms=\"[('view1','view2',1.0)]\"", 'mocov3/vit-xs4_digits']
    steps, passes = (
        [run.epochs for run in with_lengths(read_table(words, epochs=8, equal=equal), State(tmp_path)).runs.values()]
        for equal in ('steps', 'passes')
    )
    assert steps == [8, 8, 8] and passes == [8, 20, 10]


@pytest.mark.long
def test_a_comparison_from_its_runs_to_its_page(tmp_path: Path) -> None:
    broken = 'mocov3/vit-xs4_digits optimizer.lr=1e9 optimizer.betas="(.9,.95)"'
    words = ('-m', 'mixcl', 'compare', *CONFIGS, broken, '--out', tmp_path, *QUICK)
    process = start(*words, '--seeds', 2)
    while not list(tmp_path.glob('runs/*/epoch_1.pth')):
        assert process.poll() is None
        time.sleep(0.1)
    process.send_signal(signal.SIGTERM)
    assert process.wait(120) == 85, 'the run is saved'
    done = run(*words, '--seeds', 2, '--jobs', 2, timeout=600)
    assert done.returncode == 1, 'a run has failed'
    found = json.loads((tmp_path / 'compare.json').read_text())
    names = [(one['name'], one['seed']) for one in found['accuracies']]
    assert names == [('pixels', 0), *((name, seed) for name in CONFIGS for seed in (0, 1))]
    assert [(gain['run'], gain['beside'], len(gain['by_seed'])) for gain in found['differences']] == [
        (*CONFIGS[::-1], 2)
    ]
    text = (tmp_path / 'compare.md').read_text()
    assert '| mocov3/vit-xs4_digits | patchmix/vit-xs4_digits |' in text and 'lr=1e9' in text and 'not finite' in text
    assert '<img' in (tmp_path / 'compare.html').read_text()
    before = {path: path.stat().st_mtime_ns for path in tmp_path.glob('results/*.json')}
    again = run('-m', 'mixcl', 'compare', *CONFIGS, '--out', tmp_path, *QUICK, '--seeds', 2)
    assert again.returncode == 0, again.stderr
    assert {path: path.stat().st_mtime_ns for path in tmp_path.glob('results/*.json')} == before, 'nothing is left'
    longer = run('-m', 'mixcl', 'compare', *CONFIGS, '--out', tmp_path, *QUICK[:-4], '--epochs', 3, '--seeds', 1)
    assert longer.returncode == 1 and 'holds a run of other settings (epochs was 2' in longer.stdout, longer.stderr


@pytest.mark.long
def test_a_measure_that_trains_is_taken_of_runs_and_of_the_random_network(tmp_path: Path) -> None:
    measure = f'segment@folder:{masked_folder(tmp_path / "masked")}'
    chosen = ('--measures', measure, '--named', measure, '--baselines', 'random', 'pixels', *QUICK[-4:])
    words = ('-m', 'mixcl', 'compare', CONFIGS[0], '--out', tmp_path / 'out', *chosen, '--seeds', 1)
    done = run(*words, timeout=600)
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / 'out/compare.json').read_text())['accuracies']
    assert {one['name'] for one in found if one[measure] is not None} == {'random', CONFIGS[0]}


def test_time_is_not_shared_by_processes(tmp_path: Path) -> None:
    from mixcl import compare

    with pytest.raises(UserError, match="equal='time' measures seconds"):
        compare(CONFIGS, tmp_path, equal='time', jobs=2)
