"""The quality protocol and the fast linear probe, as a user runs them on digits."""

import json
from pathlib import Path

import pytest
from evaluation.composed import written
from tools.in_process import refusal, run_here

SMALL = ['test_dataloader.dataset.indices=60', 'test_cfg.bank_dataloader.dataset.indices=120']
SMALL += ['test_dataloader.num_workers=0', 'test_cfg.bank_dataloader.num_workers=0']


def metrics_of(protocol: str, folder: Path, *options: str) -> dict[str, float]:
    out, config = folder / 'metrics.json', written(folder, protocol)
    arguments = ('--pretrained', 'random', '--work-dir', folder, '--out', out)
    assert run_here('tools/test.py', config, *arguments, options=(*SMALL, *options)) == 0
    return json.loads(out.read_text())


def test_quality_of_an_untrained_encoder(tmp_path: Path) -> None:
    metrics = metrics_of('quality', tmp_path, 'test_evaluator.images=5')
    assert metrics['online_cluster_classes'] == 10 and metrics['online_cluster_images'] == 50
    assert 1 < metrics['online_effective_rank'] <= 60
    assert -4 < metrics['online_uniformity'] < 0
    for index in ('davies_bouldin', 'calinski_harabasz', 'tsne_davies_bouldin', 'tsne_calinski_harabasz'):
        assert metrics[f'online_{index}'] > 0


def test_the_fast_linear_probe_is_better_than_chance(tmp_path: Path) -> None:
    metrics = metrics_of('linear_fast', tmp_path, 'test_evaluator.epochs=20')
    assert metrics['online_probe_top1'] > 25
    assert sum(name.endswith('_top1') for name in metrics) == 1 + 7 * 3


@pytest.mark.parametrize(
    ('protocol', 'option', 'message'),
    [
        ('quality', 'test_evaluator.classes=1', 'RepresentationQuality: classes must be 2 or more, not 1'),
        ('linear_fast', 'test_evaluator.held_out=1.5', 'linear probe: held_out=1.5 is out of range'),
    ],
)
def test_a_mistake_ends_in_one_sentence(
    tmp_path: Path, capfd: pytest.CaptureFixture,
    protocol: str, option: str, message: str,
) -> None:  # fmt: skip
    arguments = (written(tmp_path, protocol), '--pretrained', 'random', '--work-dir', tmp_path)
    assert message in refusal(capfd, 'tools/test.py', *arguments, '--cfg-options', option)
