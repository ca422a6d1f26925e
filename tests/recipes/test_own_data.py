"""--data: a user's own images in any config that trains, in evaluations and in extraction."""

import os
import re
from pathlib import Path

import numpy as np
import pytest
from evaluation.composed import CONFIGS, composed, written
from mmengine.config import Config
from mmengine.registry import DefaultScope
from own_sources import CLASSES, photos, write_all, write_folder
from tools.in_process import run_here

from mixcl.datasets import KeyedDataset
from mixcl.errors import UserError
from mixcl.evaluation.feature_files import labels_of, names_of
from mixcl.recipes.evaluations.composing import data_set
from mixcl.recipes.evaluations.plan import planned
from mixcl.recipes.images import image_pipeline, source_images
from mixcl.recipes.own_data import source_config
from mixcl.recipes.prepared import Options, prepared, prepared_to_train
from mixcl.recipes.subject import Subject
from mixcl.registry import DATASETS

COUNTS = '18 images to pretrain on; 3 classes (ant, bee, cat), {} labelled images to learn from and {} to test on'


@pytest.fixture(scope='module')
def sources(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return write_all(tmp_path_factory.mktemp('sources'), photos(18))


def on(config: str, spec: str, **options: object) -> Config:
    """Return a pretraining config on images of one's own."""
    return prepared_to_train(CONFIGS / f'{config}.py', Options(data=spec, **options))


def loaders(cfg: Config) -> dict[str, Config]:
    return dict(train=cfg.train_dataloader, val=cfg.val_dataloader, bank=cfg.val_cfg.bank_dataloader)


@pytest.mark.parametrize(
    ('config', 'size'),
    [
        ('patchmix/vit-s16_in1k', 224),
        ('mixco/r18_tinyimagenet_mocov2', 224),
        ('aps/vit-s2_cifar10', 32),
        ('patchmix/vit-xs4_digits', 16),  # its own images need no crop
        ('patchmix/vit-s16_folder', 224),  # it has no kNN of its own
    ],
)
def test_any_pretraining_on_a_folder_with_kNN(config: str, size: int, sources: dict) -> None:
    cfg = on(config, sources['folder'])
    said = cfg.found_images
    with DefaultScope.overwrite_default_scope('mixcl'):
        train, val, bank = (DATASETS.build(loader.dataset) for loader in loaders(cfg).values())
    assert COUNTS.format(len(bank), len(val)) in said and len(train) == len(val) + len(bank) == 18
    labelled = ['gt_label' in sample['data_samples'] for sample in train]
    assert sum(labelled) == len(bank) and len(train[0]['inputs']) >= 2  # labels of tested images are hidden
    assert val[0]['inputs'].shape == (3, size, size) and 0 <= val[0]['data_samples'].gt_label.item() < 3


@pytest.mark.parametrize('config', ['patchmix/vit-s16_folder', 'patchmix/vit-xs4_digits'])  # one that reads no files
def test_one_background_wherever_images_are_read(config: str, sources: dict) -> None:
    def read(cfg: Config) -> set:
        steps = [loader.dataset.dataset.pipeline[0] for loader in loaders(cfg).values()] + [image_pipeline(cfg)[0]]
        return {(step['type'], tuple(step.get('background', ()))) for step in steps}

    asked = Options(data=sources['folder'], background=(1, 2, 3))
    assert read(prepared_to_train(CONFIGS / f'{config}.py', asked)) == {('LoadImage', (1, 2, 3))}
    of_training = {'data.read.0.background': (4, 5, 6)}
    if config.endswith('folder'):
        asked = Options(data=sources['folder'], cfg_options=of_training)
        assert read(prepared_to_train(CONFIGS / f'{config}.py', asked)) == {('LoadImage', (4, 5, 6))}


def test_a_data_set_by_name_brings_its_views_and_measures() -> None:
    by_name = on('mocov3/r50_cifar10', 'digits')
    as_fact = prepared_to_train(CONFIGS / 'mocov3/r50_cifar10.py', Options(cfg_options=dict(data='digits')))
    assert {**by_name.to_dict(), 'run_name': None} == {**as_fact.to_dict(), 'run_name': None}
    assert on('mocov3/r50_cifar10', 'digits', labels=False).val_dataloader is None


def test_what_is_said_about_the_data_holds_for_ones_own(sources: dict) -> None:
    said = {'data.read': [dict(type='LoadImage'), dict(type='mmpretrain.RandomGrayscale')], 'data.resize': 300}
    cfg = prepared_to_train(CONFIGS / 'patchmix/vit-s16_folder.py', Options(data=sources['folder'], cfg_options=said))
    steps = [step['type'].rpartition('.')[2] for step in cfg.test_dataloader.dataset.dataset.pipeline]
    assert steps[:3] == ['LoadImage', 'RandomGrayscale', 'ResizeEdge']
    assert cfg.test_dataloader.dataset.dataset.pipeline[2].scale == 300


def test_without_labels_there_is_no_kNN(tmp_path: Path) -> None:
    write_folder(tmp_path, dict.fromkeys(['a.jpg', 'b.jpg'], b''))
    cfg = on('patchmix/vit-xs4_digits', f'folder:{tmp_path}')
    assert 'without labels, so no kNN' in cfg.found_images
    parts = [f'{part}_{name}' for part in ('val', 'test') for name in ('dataloader', 'cfg', 'evaluator')]
    assert [cfg[part] for part in parts] == [None] * 6


def test_labels_that_mean_nothing_give_no_kNN(sources: dict, tmp_path: Path) -> None:
    cfg = on('patchmix/vit-xs4_digits', sources['folder'], labels=False)
    assert '18 images to pretrain on without labels, so no kNN' in cfg.found_images
    assert cfg.val_dataloader is None and cfg.train_dataloader.dataset.dataset.labels is False
    for kind in ('folder', 'list'):  # what follows the run knows it of the same images, and of no others
        images = source_images(sources[kind], cfg, image_pipeline(cfg, 16))
        with DefaultScope.overwrite_default_scope('mixcl'):
            assert (labels_of(KeyedDataset(images)) is None) == (kind == 'folder')
    with pytest.raises(UserError, match='`labels` is about images of your own: leave it out'):
        prepared_to_train(CONFIGS / 'patchmix/vit-xs4_digits.py', Options(labels=False))


def test_a_config_of_sections_and_one_of_an_evaluation_keep_their_data(tmp_path: Path, sources: dict) -> None:
    sections = tmp_path / 'sections.py'
    sections.write_text(composed('finetune').pretty_text)
    for path, message in (
        (sections, r'`data` changes the facts of a recipe, but .* has sections only'),
        (written(tmp_path, 'finetune'), '`data` is for pretraining; mixcl evaluate composes evaluations such as'),
    ):
        with pytest.raises(UserError, match=message):
            prepared_to_train(path, Options(data=sources['tar']))


def test_fewer_classes_of_imagenet_by_naming_the_folder(tmp_path: Path) -> None:
    wnids = ('n01440764', 'n01443537')
    write_folder(tmp_path, {f'{part}/{wnid}/0.JPEG': b'' for part in ('train', 'val') for wnid in wnids})
    said = on('patchmix/vit-s16_in1k', f'folder:{tmp_path}').found_images
    assert '2 images to pretrain on; 2 classes (n01440764, n01443537), 2 labelled' in said and 'as the data say' in said


def test_evaluations_have_the_classes_the_size_of_the_pretraining_and_batches_for_few_images(sources: dict) -> None:
    pretraining = prepared(CONFIGS / 'patchmix/vit-xs4_digits.py')
    subject = Subject(config=pretraining, backbone=pretraining.model.backbone.to_dict())
    knn, linear, semi = planned(['knn', 'linear', 'semi'], sources['hf'], subject)
    assert knn.name.startswith('knn_hf-table_online-') and knn.data == sources['hf']
    assert linear.cfg.model.head.num_classes == 3 and linear.cfg.val_evaluator.topk == (1,)
    assert (knn.cfg.protocol.crop, linear.cfg.model.backbone.backbone.img_size) == (16, 16)
    assert (linear.cfg.train_dataloader.batch_size, semi.cfg.train_dataloader.batch_size) == (2, 2)
    assert linear.cfg.optim_wrapper.optimizer.lr == pytest.approx(0.02 * 2 / 256)  # SGD's is scaled, AdamW's is not
    assert semi.cfg.optim_wrapper.optimizer.lr == pytest.approx(5e-4)
    with pytest.raises(UserError, match=r'the protocol robustness is not for hf:.*; choose in1k'):
        planned(['robustness'], sources['hf'], subject)


@pytest.mark.parametrize('channels', [1, 4, 13])
def test_other_channels_than_three_come_to_pretraining_evaluations_and_extraction(
    channels: int, tmp_path: Path
) -> None:
    for number in range(6):
        (tmp_path / 'ab'[number % 2]).mkdir(exist_ok=True)
        np.save(tmp_path / 'ab'[number % 2] / f'{number}.npy', np.full((40, 60, channels), number, np.uint16))
    options = {'model.backbone.in_channels': channels, 'model.backbone.arch.num_layers': 1}
    options |= {'data.read.0.channels': channels, 'data.mean': [1.0] * channels, 'data.std': [2.0] * channels}
    spec = f'folder:{tmp_path}'
    cfg = on('patchmix/vit-s16_folder_4channels', spec, cfg_options=options)
    assert '6 images to pretrain on; 2 classes' in cfg.found_images
    subject = Subject(config=cfg, backbone=cfg.model.backbone.to_dict())
    plans = [plan.cfg for plan in planned(['knn', 'linear', 'finetune'], spec, subject)]
    loaded = [*loaders(cfg).values(), plans[0].test_dataloader, plans[1].train_dataloader, plans[2].val_dataloader]
    with DefaultScope.overwrite_default_scope('mixcl'):
        samples = [DATASETS.build(loader.dataset)[0]['inputs'] for loader in loaded]
        samples.append(KeyedDataset(source_images(spec, cfg, image_pipeline(cfg)))[0]['inputs'])
    crops = [crop for sample in samples for crop in (sample if isinstance(sample, list) else [sample])]
    assert {tuple(crop.shape) for crop in crops} == {(channels, 224, 224)}
    assert [len(plan.data_preprocessor.mean) for plan in plans] == [channels] * 3


def test_a_list_below_another_folder_is_evaluated_or_refused_before_anything_starts(tmp_path: Path) -> None:
    write_folder(tmp_path / 'far', photos(18))
    (tmp_path / 'l.csv').write_text('\n'.join(f'{name},{name.partition("/")[0]}' for name in photos(18)))
    spec = f'list:{tmp_path / "l.csv"}'
    (knn,) = planned(['knn'], spec, Subject(), roots={spec: str(tmp_path / 'far')})
    assert knn.cfg.test_dataloader.dataset.dataset.data_root == str(tmp_path / 'far')
    with pytest.raises(UserError, match=r'of the 18 files that .*l\.csv lists do not exist, .*the first: ant/01\.jpg'):
        planned(['knn'], spec, Subject())


@pytest.mark.parametrize('kind', ['folder', 'list', 'tar', 'hf'])
def test_features_have_names_and_labels(kind: str, sources: dict) -> None:
    with DefaultScope.overwrite_default_scope('mixcl'):
        dataset = KeyedDataset(source_images(sources[kind], Config(), image_pipeline(Config(), 16)))
    assert labels_of(dataset).tolist() == np.repeat([0, 1, 2], 6).tolist()
    assert dataset.metainfo['classes'] == tuple(sorted(CLASSES)) and dataset[0]['inputs'].shape == (3, 16, 16)
    first = dict(folder='ant/01.jpg', list='photos/ant/01.jpg', tar='shard-000.tar/ant/01.jpg')
    assert names_of(dataset)[0] == first.get(kind, 'train/00000000')
    assert len(set(names_of(dataset))) == 18


def test_a_file_or_folder_without_its_kind_is_offered_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path('photos').mkdir()
    for name in ('photos/6.jpg', 'list.csv'):
        Path(name).touch()
    for spec, offered in (
        ('photos', '; did you mean folder:photos?'),
        ('photos/6.jpg', '; photos/6.jpg is a file, did you mean folder:photos?'),
        ('folder:photos/6.jpg', '; photos/6.jpg is a file, did you mean folder:photos?'),
        ('list.csv', '; list.csv is a file, did you mean list:list.csv?'),
    ):
        with pytest.raises(UserError, match=re.escape(offered)):
            source_config(spec)
        if ':' not in spec:  # a name of an evaluation's data set
            with pytest.raises(UserError, match=f'there are cifar10, .*{re.escape(offered)}'):
                data_set(spec, 'knn')


def test_a_run_on_a_folder_says_what_it_found(tmp_path: Path, sources: dict, capfd: pytest.CaptureFixture) -> None:
    options = [
        f'{loader}.num_workers=0' for loader in ('train_dataloader', 'val_dataloader', 'val_cfg.bank_dataloader')
    ]
    options += ['batch=6', 'schedule.epochs=1', 'model.backbone.arch.num_layers=1']
    arguments = ('configs/patchmix/vit-xs4_digits.py', '--data', sources['folder'], '--work-dir', tmp_path)
    assert run_here('tools/train.py', *arguments, options=[*options, 'measure.every=1']) == 0
    shown = capfd.readouterr().out
    assert f'images: {sources["folder"]}: 18 images to pretrain on; 3 classes' in shown
    assert '3 of 3 steps' in shown and 'kNN' in shown and f'--data {sources["folder"]} --protocols knn linear' in shown
    assert os.path.isfile(tmp_path / 'epoch_1.pth')
