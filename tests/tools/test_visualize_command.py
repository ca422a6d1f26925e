"""``tools/visualize.py``: every figure of a tiny checkpoint, and what cannot be drawn."""

from pathlib import Path

import numpy as np
import pytest
from engine.tiny_runs import run_config, trained
from evaluation.checkpoints import of_pretraining
from own_sources import photo, write_folder
from PIL import Image
from tools.command import ROOT
from tools.in_process import refusal, run_as_given
from tools.once import once

TOOL = 'tools/visualize.py'


@pytest.fixture(scope='module')
def run() -> Path:
    name = 'a name of several words, ' * 7  # titles must not be cut off
    return once('visualized', lambda folder: trained(run_config(folder, train_cfg__max_epochs=1, run_name=name)))


@pytest.fixture(scope='module')
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    files = {f'{"ab"[number % 2]}/${number}.png': photo(number, (24, 24)) for number in range(12)}
    return write_folder(tmp_path_factory.mktemp('photos'), files)


FIGURES = dict(
    mix=[], views=['--num-images', 2], attention=['--num-images', 3], tokens=['--num-images', 3],
    similarity=['--num-images', 8], keys=[],
    neighbours=['--num-images', 2, '--k', 3, '--worst', '--image-size', 8], map=['--image-size', 8], curves=[],
)  # fmt: skip


@pytest.mark.parametrize('figure', FIGURES)
def test_every_figure_of_a_run(run: Path, photos: Path, tmp_path: Path, figure: str) -> None:
    images = [] if figure == 'curves' else ['--images', photos]
    out = tmp_path / f'{figure}.png', tmp_path / f'{figure}.svg'
    assert run_as_given(TOOL, figure, run, *FIGURES[figure], *images, '--out', *out) == 0
    seen = np.asarray(Image.open(out[0]).convert('L'))
    assert seen.std() > 5 and (seen[:, [0, -1]] == 255).all() and '<svg' in out[1].read_text()


def test_what_cannot_be_drawn_is_told(tmp_path: Path, capfd: pytest.CaptureFixture) -> None:
    checkpoint = of_pretraining(tmp_path / 'checkpoint.pth')

    def told(*words: object) -> str:
        return refusal(capfd, TOOL, *words, options=None)

    backbone = dict(_delete_=True, type='mmpretrain.ResNet_CIFAR', depth=18, base_channels=8, stem_channels=8)
    resnet = tmp_path / 'resnet.py'
    resnet.write_text(f"_base_ = '{ROOT}/configs/patchmix/vit-xs4_digits.py'\nmodel = dict(backbone={backbone})\n")
    assert 'ResNet_CIFAR has no attention between patches' in told('attention', resnet)
    assert 'needs 400 images or more, but' in told('attention', checkpoint, '--num-images', 400)
    flat = write_folder(tmp_path / 'flat', [f'{number}.png' for number in range(12)])
    assert 'the images have no labels' in told('neighbours', checkpoint, '--images', flat, '--worst')
    assert 'needs umap-learn' in told('map', checkpoint, '--images', flat, '--method', 'umap')
