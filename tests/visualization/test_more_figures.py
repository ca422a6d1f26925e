"""Figures show what other ways of computation give."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from engine.tiny_runs import run_config
from evaluation.checkpoints import of_pretraining
from hosts import LOCAL_CROPS, dino, distilled
from mmengine.registry import DefaultScope
from own_sources import photo, write_folder
from PIL import Image
from sklearn.decomposition import PCA
from visualization.test_figures import write_log

import mixcl
from mixcl.datasets.keyed_dataset import SampleKey
from mixcl.datasets.transforms.photometry_cpu import run_programs
from mixcl.datasets.transforms.views import LoadImage
from mixcl.errors import UserError
from mixcl.randomness import generator
from mixcl.registry import MODELS
from mixcl.visualization.curves import curves_figure, points_of, read_log
from mixcl.visualization.feature_map import map_figure
from mixcl.visualization.gallery import gallery_of
from mixcl.visualization.keys import closeness, key_figure, kinds_of_keys
from mixcl.visualization.mix_preview import mixture_figure
from mixcl.visualization.neighbours import mistakes, others_nearest
from mixcl.visualization.pictured import Pictured, read_pictured, training_crops, training_set
from mixcl.visualization.similarity import similarity_figure, term_similarities
from mixcl.visualization.token_colours import principal_colours
from mixcl.visualization.views import parameters_in_words, view_figure, views_as_drawn


def test_neighbours_are_those_of_numpy() -> None:
    features = torch.randn(20, 5, generator=torch.Generator().manual_seed(0))
    cosines, indices = others_nearest(features, 4)
    unit = features.numpy() / np.linalg.norm(features.numpy(), axis=1, keepdims=True)
    products = unit @ unit.T
    np.fill_diagonal(products, -2)
    expected = np.argsort(-products, axis=1)[:, :4]
    assert (indices.numpy() == expected).all()
    np.testing.assert_allclose(cosines.numpy(), np.take_along_axis(products, expected, 1), rtol=1e-5)
    _, same = others_nearest(torch.ones(6, 3), 2)  # an image among equal ones is no neighbour of itself either
    assert same.shape == (6, 2)


def test_colours_of_tokens_are_the_principal_components_of_scikit_learn() -> None:
    tokens = torch.randn(3, 4, 5, 6, generator=torch.Generator().manual_seed(0)) * torch.arange(1, 7)
    expected = PCA(3).fit_transform(tokens.flatten(0, 2).numpy())
    found = principal_colours(tokens).flatten(0, 2).numpy()
    inside = (found > 0) & (found < 1)
    for number in range(3):
        rows = inside[:, number]
        assert abs(np.corrcoef(expected[rows, number], found[rows, number])[0, 1]) == pytest.approx(1, abs=1e-6)
    assert principal_colours(tokens[..., :1]).shape == (3, 4, 5, 3)


def test_figures_show_the_encoder_that_embedding_takes_and_say_which(tmp_path: Path) -> None:
    checkpoint = of_pretraining(tmp_path / 'epoch_1.pth')
    folder = write_folder(tmp_path / 'images', {f'{number}.png': photo(number, (16, 16)) for number in range(3)})
    pictured = read_pictured(str(checkpoint), source=f'folder:{folder}')
    gallery = gallery_of(pictured, 3)
    paths = [gallery.dataset.get_data_info(index)['img_path'] for index in gallery.indices]
    for encoder in (None, 'online', 'target'):
        chosen = replace(pictured, encoder=encoder)
        features = gallery.features(chosen.model)
        torch.testing.assert_close(features, torch.from_numpy(mixcl.embed(checkpoint, paths, encoder=encoder)))
        assert chosen.name == f'patchmix/vit-xs4_digits after 1 epochs, {encoder or "target"} encoder'


def test_the_worst_mistake_is_the_nearest_of_another_class() -> None:
    labels, indices = torch.tensor([0, 0, 1]), torch.tensor([[1, 2], [2, 0], [0, 1]])
    cosines = torch.tensor([[0.9, 0.1], [0.8, 0.7], [0.6, 0.4]])
    torch.testing.assert_close(mistakes(labels, cosines, indices), torch.tensor([0.05, 0.4, 0.5]))


@pytest.mark.parametrize('views', ['device', 'pillow'])
def test_the_parameters_under_a_view_make_the_view(tmp_path: Path, views: str) -> None:
    cfg = run_config(tmp_path, train_dataloader__dataset__views='device')
    keys = [SampleKey(3, 0, index) for index in range(4)]
    drawn = views_as_drawn(training_set(cfg, 4), keys)
    cfg.train_dataloader.dataset.views = views
    dataset = training_set(cfg, 4)
    crops = training_crops(cfg, [dataset[key] for key in keys])
    for row, (_, _, (view, *_)) in enumerate(drawn):
        finished = torch.from_numpy(view['img'][..., ::-1].copy()).permute(2, 0, 1)[None]
        finished = run_programs(finished, torch.tensor([view['program']], dtype=torch.float32))
        assert (finished[0].float() - crops[0][row] * 255).abs().max() <= 4  # rounding of the crop, times a contrast
    _, full, (view, *_) = drawn[0]
    _, _, height, width = view['crop_box']
    words = parameters_in_words(view, full)
    assert words[0] == f'crop of {height * width / 64:.0%}' and any(word.startswith('brightness x') for word in words)


@pytest.mark.parametrize('draw', [view_figure, mixture_figure, similarity_figure])
def test_images_are_of_the_whole_folder(draw: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    write_folder(tmp_path, [f'{name}/{number}.png' for name in 'abcd' for number in range(9)])
    load = LoadImage.transform

    def noted(self: LoadImage, image: dict, *more: Any) -> Any:
        seen.append(image['img_path'])
        return load(self, image, *more)

    monkeypatch.setattr(LoadImage, 'transform', noted)
    pictured = Pictured(run_config(tmp_path / 'run'), source=f'folder:{tmp_path}')
    draw(pictured if draw is similarity_figure else pictured.training, num_images=4)
    assert {Path(path).parent.name for path in seen} == {*'abcd'}


def test_a_crop_is_a_share_of_the_whole_photo_however_small_it_was_decoded(tmp_path: Path) -> None:
    Image.new('RGB', (1600, 1200)).save(tmp_path / 'large.jpg')
    crop = dict(type='mmpretrain.RandomResizedCrop', scale=32, backend='pillow')
    views = dict(type='KeyedMultiView', num_views=[2], transforms=[[crop]])
    cfg = run_config(tmp_path / 'run')
    pipeline = [dict(type='LoadImage'), views, dict(type='mmpretrain.PackInputs')]
    cfg.train_dataloader.dataset.dataset = dict(type='ImageFolder', data_root=str(tmp_path), pipeline=pipeline)
    ((image, full, made),) = views_as_drawn(training_set(cfg, 1), [SampleKey(0, 0, 0)])
    assert image.shape[0] < 1200 and full == (1200, 1600)
    for view in made:
        assert 8 <= int(re.match(r'crop of (\d+)%', parameters_in_words(view, full)[0])[1]) <= 100


def test_similarities_and_targets_are_those_of_the_loss(tmp_path: Path) -> None:
    cfg = run_config(tmp_path)
    cfg.model.update(patches=dict(tokens=2), terms=[*cfg.model.terms, ('mix2', 'view2', 2.0, dict(level='patch'))])
    with DefaultScope.overwrite_default_scope('mixcl'):
        model = MODELS.build(dict(cfg.model, data_preprocessor=cfg.data_preprocessor))
    weights = {name: value.clone() for name, value in model.state_dict().items()}
    batch = next(iter(torch.utils.data.DataLoader(training_set(cfg, 8), batch_size=8, collate_fn=_inputs)))
    found = term_similarities(model.eval(), batch)
    with torch.no_grad():
        losses = model(**model.data_preprocessor(batch), mode='loss')
    pairs = 'view1 to view2', 'mix2 to view1', 'mix2 to mix1', 'mix2 patches to view2 patches'
    assert tuple(term.name for term in found) == pairs
    logged = losses | {'loss_mix2 patches_view2 patches': losses['loss_mix2_view2_patch']}
    for term, weight in zip(found, (1.0, 0.5, 0.5, 2.0), strict=True):
        rows = -(term.target * (term.cosines / 0.2).log_softmax(dim=1)).sum(dim=1)
        torch.testing.assert_close(weight * rows.mean(), logged[f'loss_{term.name.replace(" to ", "_")}'])
    assert all((weights[name] == value).all() for name, value in model.state_dict().items())
    # Cosines of DINO, and of similarities to a queue, are those of probabilities.
    for host, views in ((dino, 2 + LOCAL_CROPS), (distilled, 1)):
        cfg.model = host() | dict(data_preprocessor=cfg.data_preprocessor)
        with DefaultScope.overwrite_default_scope('mixcl'):
            model = MODELS.build(cfg.model)
        found = term_similarities(model.eval(), dict(inputs=[torch.rand(8, 3, 8, 8) for _ in range(views)]))
        assert all(term.cosines.min() > 0 and term.cosines.max() <= 1.001 for term in found)
    cfg.model.type = 'ImageClassifier'
    with pytest.raises(UserError, match='of pretraining'):
        similarity_figure(Pictured(cfg))


def test_closeness_of_keys_by_kind(tmp_path: Path) -> None:
    labels = torch.tensor([0, 1, 0])
    kinds = kinds_of_keys(labels)
    expected = [[{'same': i == j, 'class': i != j and labels[i] == labels[j]} for j in range(3)] for i in range(3)]
    assert kinds['the same image'].tolist() == [[bool(pair['same']) for pair in row] for row in expected]
    assert kinds['its class'].tolist() == [[bool(pair['class']) for pair in row] for row in expected]
    assert (sum(kinds.values()) == 1).all()
    random = np.random.default_rng(0)
    queries, keys = random.normal(size=(3, 4)), random.normal(size=(2, 4))
    cosines = [[a @ b / np.linalg.norm(a) / np.linalg.norm(b) for b in keys] for a in queries]
    found = closeness(torch.from_numpy(queries), torch.from_numpy(keys))
    np.testing.assert_allclose(found, np.exp((np.array(cosines) - 1) / 0.07), rtol=1e-9)
    cfg = run_config(tmp_path)
    figure = key_figure(Pictured(cfg), 30)
    encoder, dataset = Pictured(cfg).model, training_set(cfg, 30)
    chosen = torch.randperm(40, generator=generator('keys', 0))[:30].tolist()
    crops = training_crops(cfg, [dataset[SampleKey(0, 0, index)] for index in chosen])
    views = [encoder.extract_features((crop * 255 - 127.5) / 127.5).detach() for crop in crops]
    mean = closeness(*views).diag().mean()
    assert f' {mean:.3f} before training' in [text.get_text() for text in figure.axes[-1].texts]
    with pytest.raises(UserError, match='has another image of its class and one of another class; raise `num_images`'):
        key_figure(Pictured(cfg), 2)


def test_a_map_names_both_indices_of_clusters(tmp_path: Path) -> None:
    axis = map_figure(Pictured(run_config(tmp_path)), 30).axes[0]
    assert re.match(r'.*Davies-Bouldin.*\nof the features: DBI [\d.]+, CHI \d+\non the map: DBI', axis.get_xlabel())


def _inputs(samples: list[dict]) -> dict:
    return torch.utils.data.default_collate(
        [{name: value for name, value in sample.items() if name != 'data_samples'} for sample in samples]
    )


def test_a_resumed_run_is_one_curve(tmp_path: Path) -> None:
    def log(run: str, start: str, *steps: int) -> None:
        losses = [dict(loss=1.0, loss_a_b=step, epoch=step, step=step, time=1800.0) for step in steps]
        write_log(tmp_path / run, start, *losses, dict(online_knn10_top1=1.0, step=steps[-1]))

    log('run', '1', 1, 2, 3, 4)
    log('run', '2', 3, 4, 5)  # from a checkpoint after step 2
    lines = read_log(tmp_path / 'run')
    assert [line['step'] for line in lines if 'loss' in line] == [1, 2, 3, 4, 5]
    log('other', '1', 2, 4)
    for by, places in dict(epoch=[1, 2, 3, 4, 5], step=[1, 2, 3, 4, 5], hour=[0.5, 1, 1.5, 2, 2.5]).items():
        figure = curves_figure([tmp_path / 'run', tmp_path / 'other'], by)
        axes = figure.axes
        first, second = axes[0].lines
        assert axes[0].get_xlabel() == by
        assert first.get_xdata() == pytest.approx(places) and len(second.get_xdata()) == 2
        assert [text.get_text() for text in figure.legends[0].get_texts()] == ['run', 'other']
        assert axes[1].lines[0].get_xdata() == pytest.approx(places[-1:])
    with pytest.raises(UserError, match='no log of a training'):
        curves_figure([tmp_path])
    without_epochs = [dict(loss=1.0, step=7), dict(top1=5.0, step=7)]
    assert points_of(without_epochs, 'epoch')['top1'] == [(7, 5.0)]
