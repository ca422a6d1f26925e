"""Figures are written and show something, or say why they cannot."""

import json
from pathlib import Path

import numpy as np
import pytest
from engine.tiny_runs import run_config
from matplotlib.figure import Figure
from mmengine.config import Config
from PIL import Image, ImageColor

from mixcl.errors import UserError
from mixcl.recipes.prepared import prepared
from mixcl.visualization.canvas import PALETTE, check_figure_path, write
from mixcl.visualization.curves import curves_figure
from mixcl.visualization.mix_preview import mixture_figure


def pixels(path: Path) -> np.ndarray:
    return np.asarray(Image.open(path).convert('RGB'))


def write_log(work_dir: Path, name: str, *lines: dict) -> None:
    path = work_dir / name / 'vis_data/scalars.json'
    path.parent.mkdir(parents=True)
    path.write_text('\n'.join(map(json.dumps, lines)) + '\n')


def titles(figure: Figure) -> list[str]:
    """Return titles and labels."""
    return [text for axis in figure.axes for text in (axis.get_title(), *axis.get_legend_handles_labels()[1])]


def test_the_preview_of_mixing_shows_sources_and_shares(tmp_path: Path) -> None:
    cfg = run_config(tmp_path)
    figure = mixture_figure(cfg)
    path = write(figure, tmp_path / 'new/mix.png')
    assert path == tmp_path / 'new/mix.png' and pixels(path).std() > 20
    # Two views and their mixtures, six images each; image 5 is mixed with images 0 and 1.
    assert len(titles(figure)) == 24 and 'mix2: 33% of 5\n33% of 0\n33% of 1' in titles(figure)
    del cfg.model.mixer.patch_size  # follows from the backbone
    again, other = (pixels(write(mixture_figure(cfg, seed=seed), tmp_path / 'mix.png')) for seed in (0, 2))
    assert (again == pixels(path)).all() and (other != again).any()


def test_the_preview_draws_partners_as_training_does(tmp_path: Path) -> None:
    """Partners are drawn once for both views, or with ``shared_plan=False`` for each."""
    cfg = run_config(tmp_path)
    cfg.model.mixer = dict(type='Mixup', pairing='permutation')
    shown = []
    for cfg.model.shared_plan in (True, False):
        mixtures = [title for title in titles(mixture_figure(cfg)) if title.startswith('mix')]
        shown.append([title.partition(': ')[2] for title in mixtures])
    (one, other), (first, second) = ((texts[:6], texts[6:]) for texts in shown)
    assert one == other and first != second


def test_a_preview_in_rgb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pipelines give BGR: a blue image must look blue."""
    blue = np.zeros((8, 8, 3), np.uint8)
    blue[..., 0] = 255
    monkeypatch.setattr('mixcl.datasets.digits.np.repeat', lambda *_, **__: blue)
    image = pixels(write(mixture_figure(run_config(tmp_path)), tmp_path / 'mix.png'))
    assert (image == (0, 0, 255)).all(axis=2).any()
    assert not (image == (255, 0, 0)).all(axis=2).any()


def test_what_cannot_be_drawn_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match='no mixed stream'):
        mixture_figure(Config(dict(model=dict(type='ContrastiveLearner', terms=[]))))
    with pytest.raises(UserError, match='num_mix=3 images cannot be mixed from the 2'):
        mixture_figure(run_config(tmp_path), num_images=2)
    with pytest.raises(UserError, match='40 images, fewer than the 50 to show'):
        mixture_figure(run_config(tmp_path), num_images=50)
    (tmp_path / 'file').touch()
    with pytest.raises(UserError, match=r'results cannot be written to .*file'):
        check_figure_path(tmp_path / 'file/mix.png')
    with pytest.raises(UserError, match=r'`out=mix.xyz`: the name must end in one of .*\.png'):
        check_figure_path('mix.xyz')


def test_a_run_of_one_epoch_has_points_and_no_line(tmp_path: Path) -> None:
    write_log(tmp_path, '20240101_000000', dict(loss=1.0, lr=0.1, epoch=1, step=1, time=1.0))
    seen = pixels(write(curves_figure([tmp_path]), tmp_path / 'curves.png'))
    assert (seen == ImageColor.getrgb(PALETTE[0])).all(axis=-1).any()


def test_a_preview_of_streams_of_several_lengths() -> None:
    """Six images have 24 local crops."""
    cfg = prepared('configs/sdmp/vit-s16_in1k_dino.py', smoke=True)
    shown = titles(mixture_figure(cfg, num_images=6))
    assert 'view1: image 5' in shown and 'spare: image 7' in shown and 'view1: image 6' not in shown
