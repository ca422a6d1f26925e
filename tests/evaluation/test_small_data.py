"""kNN and linear probe together, on the digits."""

import copy
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from mmengine.logging import MMLogger
from mmengine.runner import Runner
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import normalize

from mixcl.datasets import Digits
from mixcl.engine.runners.launch import build_runner
from mixcl.evaluation import small_data
from mixcl.evaluation.functional.linear_probe import ProbeSettings, probe_sweep
from mixcl.evaluation.small_data import baseline_accuracies, untrained
from mixcl.recipes.prepared import prepared

FEW = {'val_dataloader.dataset.indices': 60, 'val_cfg.bank_dataloader.dataset.indices': 150}


@pytest.fixture(autouse=True)
def short_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = ProbeSettings(rates=(0.1,), weight_decays=(1e-3,), epochs=20)
    monkeypatch.setattr(small_data, 'probe_sweep', partial(probe_sweep, settings=settings))


def runner_of(folder: Path, seed: int, **options: int) -> Runner:
    loaders = ('train_dataloader', 'val_dataloader', 'val_cfg.bank_dataloader')
    in_this_process = {f'{loader}.num_workers': 0 for loader in loaders}
    cfg = copy.deepcopy(
        prepared(
            'configs/mocov3/vit-xs4_digits.py', cfg_options={'randomness.seed': seed, **in_this_process, **options}
        )
    )
    cfg.work_dir = str(folder)
    return build_runner(cfg)


def pixels_and_labels(runner: Runner, loader: str) -> tuple[np.ndarray, list[int]]:
    node = runner.cfg.val_dataloader if loader == 'test' else runner.cfg.val_cfg.bank_dataloader
    samples = list(Digits(split=loader, pipeline=node.dataset.pipeline))
    pixels = torch.stack([sample['inputs'] for sample in samples]).flatten(1).numpy() / 127.5 - 1
    return pixels, [sample['data_samples'].gt_label.item() for sample in samples]


def test_raw_pixels_score_as_with_scikit_learn(tmp_path: Path) -> None:
    runner = runner_of(tmp_path, seed=0)
    knn, linear = baseline_accuracies(runner)['pixels']
    (bank, bank_labels), (queries, labels) = (pixels_and_labels(runner, loader) for loader in ('train', 'test'))
    assert 0.85 < linear < 1
    # Cosine similarity ranks as Euclidean distance does on the sphere; our votes are weighted, so a few may differ.
    vote = KNeighborsClassifier(10).fit(normalize(bank), bank_labels)
    assert knn == pytest.approx(vote.score(normalize(queries), labels), abs=4 / 360)


def test_the_untrained_encoder_is_a_function_of_the_seed(tmp_path: Path) -> None:
    first, again, other = (
        baseline_accuracies(runner_of(tmp_path / name, seed, **FEW))['online']
        for name, seed in (('first', 3), ('again', 3), ('other', 4))
    )
    assert first == again != other
    assert all(0.2 < score < 1 for score in first)


def test_an_untrained_model_lists_no_parameters(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture) -> None:
    cfg = prepared('configs/mocov3/vit-xs4_digits.py')
    monkeypatch.setattr(MMLogger, '_instance_dict', {})  # as in a command that has read no config
    untrained(cfg, seed=0)
    assert capfd.readouterr() == ('', '')
