"""One call from a folder of images to features: what it chooses, that it continues, and what embed returns."""

import re
import shutil
import warnings
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from mmengine.config import Config
from PIL import Image

import mixcl
from mixcl import machine
from mixcl.apis.pretraining import pretrain
from mixcl.engine.hooks import forecast
from mixcl.errors import UserError
from mixcl.recipes.length import Fit, fit_to, use_recipe_of
from mixcl.recipes.making import made
from mixcl.recipes.prepared import Options, prepared_to_train
from mixcl.recipes.reading import read_config
from mixcl.recipes.subject import read_subject
from mixcl.shipped import config_of, name_of, named_by_data
from mixcl.visualization.pictured import Pictured

TINY = {
    'model.backbone.arch.num_layers': 1, 'model.neck.hidden_channels': 32, 'model.predictor.hidden_channels': 32,
}  # fmt: skip


@pytest.fixture(scope='module')
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, random = tmp_path_factory.mktemp('photos'), np.random.default_rng(0)
    for number in range(19):
        pixels = random.integers(0, 256, (30 + number, 50, 3), dtype=np.uint8)
        Image.fromarray(pixels).convert('L' if number == 3 else 'RGB').save(folder / f'{number:02}.png')
    (folder / '19.jpg').write_bytes(b'no image')
    return folder


def logged(out: Path) -> str:
    """Return the log of a run."""
    return ''.join(path.read_text() for path in out.glob('*/*.log'))


def tiny(photos: Path, out: Path, **options: object) -> Path:
    settings = dict(epochs=1, batch_size=8, image_size=32, num_workers=0, amp=False, cfg_options=TINY)
    return pretrain(photos, out, **{**settings, **options})


@pytest.fixture(scope='module')
def checkpoint(photos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny(photos, tmp_path_factory.mktemp('run'))


def test_a_run_called_again_is_continued_and_refused_with_other_settings(photos: Path, checkpoint: Path) -> None:
    written = checkpoint.stat().st_mtime_ns
    assert checkpoint.name == 'epoch_1.pth' and tiny(photos, checkpoint.parent) == checkpoint
    assert checkpoint.stat().st_mtime_ns == written
    message = r'batch_size was 8 and is 4 now. .* another folder for a new run; `allow_changes` continues'
    with pytest.raises(UserError, match=message):
        tiny(photos, checkpoint.parent, batch_size=4)


def test_names_say_what_was_trained_on_or_are_ones_own(photos: Path, checkpoint: Path, tmp_path: Path) -> None:
    card = Path(mixcl.export(checkpoint, 'timm', tmp_path / 'card')) / 'README.md'
    assert 'vit-s16_folder' in card.read_text() and 'in1k' not in card.read_text()
    assert named_by_data('mixco/r50_in1k_byol', 'hf') == 'mixco/r50_hf_byol' and named_by_data('x', 'hf') == 'x_hf'
    assert Pictured(read_subject(str(checkpoint)).config).run == 'patchmix/vit-s16_folder, untrained'
    asked = Options(data=f'folder:{photos}', name='cats of 2024', cfg_options=TINY)
    cfg = prepared_to_train('patchmix/vit-s16_in1k', asked)
    assert (name_of(cfg), cfg.config_name) == ('cats of 2024', 'patchmix/vit-s16_in1k')  # which chooses recipes
    with pytest.raises(UserError, match='must have 1 to 100 printable characters'):
        prepared_to_train('patchmix/vit-s16_in1k', replace(asked, name='a\nb'))


def test_a_run_is_not_continued_on_other_images(photos: Path, checkpoint: Path, tmp_path: Path) -> None:
    shutil.copytree(photos, tmp_path / 'photos')
    shutil.copytree(checkpoint.parent, tmp_path / 'run')
    (tmp_path / 'photos/07.png').rename(tmp_path / 'photos/97.png')
    told = r'the digest of the training images .*; new: 97\.png; gone: 07\.png\. .* another folder .*`allow_changes`'
    for epochs in (1, 10):
        with pytest.raises(UserError, match=told):
            tiny(tmp_path / 'photos', tmp_path / 'run', epochs=epochs)


def test_a_finished_run_goes_on_with_more_epochs_and_warm_up(photos: Path, checkpoint: Path, tmp_path: Path) -> None:
    shutil.copytree(checkpoint.parent, tmp_path / 'run')
    longer = tiny(photos, tmp_path / 'run', epochs=10)
    assert longer.name == 'epoch_10.pth' and torch.load(longer, weights_only=True)['meta']['iter'] == 20


@pytest.mark.parametrize(
    ('wrong', 'message'),
    [
        *((dict([pair]), 'is no whole number of at least 1') for pair in (('epochs', 0), ('batch_size', '8'))),
        (dict(num_workers='two'), 'is no whole number of at least 0'),
        (dict(lr=float('nan')), r'lr=nan must be a finite number of at least 0'),
        (dict(seed=-1), r'seed=-1 must be a whole number from 0 to 2\*\*32 - 1'),
    ],
)
def test_wrong_types_and_options_are_refused(photos: Path, tmp_path: Path, wrong: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        tiny(photos, tmp_path / 'out', **wrong)


def test_rate_and_seed_are_those_that_are_given(photos: Path, checkpoint: Path, tmp_path: Path) -> None:
    tiny(photos, tmp_path, lr=0.003, seed=5, batch_size=4)
    assert 'learning rate 0.003, as given' in logged(tmp_path) and ', seed 5, ' in logged(tmp_path)
    assert 'met 1 unreadable training image(s), named above: 1 no image' in logged(tmp_path)
    assert ', seed 7, ' in logged(checkpoint.parent)


def test_a_run_on_folders_that_are_classes_says_their_accuracy_and_what_was_learnt(
    photos: Path, tmp_path: Path
) -> None:
    for number, path in enumerate(sorted(photos.glob('*.png'))):
        folder = tmp_path / 'photos' / 'ab'[number % 2]
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, folder)
    log = logged(tiny(tmp_path / 'photos', tmp_path / 'run').parent)
    assert re.search(r'knn\d+_top1', log) and re.search(r'encoder learnt:\n  at the start: .*\n  now: ', log)


def test_a_list_of_files_is_no_source(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"a line each, and give data='list:files\.txt'"):
        pretrain(['a.png', 'b.png'], tmp_path)


def test_long_runs_and_slow_precision_are_said_on_a_cpu(
    photos: Path, checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert 'WARNING: at ' not in logged(checkpoint.parent) and '--amp' not in logged(checkpoint.parent)
    for description, slow in (('avx512f avx512_bf16 fma', False), ('avx2 avx512f fma', True)):
        (tmp_path / 'cpuinfo').write_text(f'flags : {description}\n')
        assert machine.emulates_bfloat16(str(tmp_path / 'cpuinfo')) == slow
    monkeypatch.setattr(machine, 'emulates_bfloat16', lambda: True)
    monkeypatch.setattr(forecast, 'LONG', 0)
    monkeypatch.setattr(forecast, 'SMALL', 16)
    tiny(photos, tmp_path / 'run', epochs=4, amp=True)
    log = logged(tmp_path / 'run')
    assert 0 < log.index('--amp: this CPU has no instructions for bfloat16') < log.index('Epoch(train)')
    suggested = r'WARNING: at \S+ s per step on this CPU, \S+ days .* --epochs (\d+) or --image-size 16 --epochs (\d+),'
    ((some, more),) = re.findall(suggested, log)
    assert 3.9 < int(more) / int(some) < 4.1


def test_a_forecast_suggests_what_takes_six_hours() -> None:
    crops = dict(dataset=dict(pipeline=[dict(type='RandomResizedCrop', scale=224)]))
    cfg = Config(dict(train_dataloader=crops))
    runner = SimpleNamespace(cfg=cfg, iter=3, max_iters=100_000, max_epochs=100)
    assert '115 days are left; about 6 hours take --image-size 96 --epochs 1, with' in forecast.forecast(runner, 99.5)
    some = '1.16 days are left; about 6 hours take --epochs 22 or --image-size 96 --epochs 118,'
    assert some in forecast.forecast(runner, 1.0)
    assert 'about 6 hours take fewer images, ' in forecast.forecast(runner, 999.0)


def test_rows_of_embed_are_those_of_the_images_one_by_one(photos: Path, checkpoint: Path) -> None:
    files = sorted(photos.iterdir())
    with pytest.warns(UserWarning, match=r'no features of .*19\.jpg \(not an image\)'):
        features = mixcl.embed(checkpoint.parent, files, batch_size=8)
    assert features.shape == (20, 384) and features.dtype == np.float32
    assert np.isnan(features).any(1).tolist() == [False] * 19 + [True]
    with pytest.warns(UserWarning, match='no features of'):  # of a folder, in the order of images_in
        np.testing.assert_array_equal(mixcl.embed(checkpoint, photos, batch_size=8), features)
    assert mixcl.images_in(photos) == files
    backbone = mixcl.load_backbone(checkpoint)
    assert not any(module.training for module in backbone.modules())
    opened = [Image.open(path) for path in files[:4]]
    arrays = [np.asarray(image) for image in opened]
    opened[3] = Image.fromarray(arrays[3].astype(np.uint16) * 257)  # 16 bits, which Pillow itself clips at 255
    for images in (opened, arrays, [files[0], opened[1], arrays[2], str(files[3])]):
        np.testing.assert_allclose(mixcl.embed(backbone, images), features[:4], rtol=1e-4, atol=1e-5)
    alone = backbone(backbone.preprocess(files[5])[None])
    assert alone.requires_grad
    np.testing.assert_allclose(alone[0].detach().numpy(), features[5], rtol=1e-4, atol=1e-5)


def test_preprocess_is_what_torchvision_would_do(photos: Path, checkpoint: Path) -> None:
    transforms = pytest.importorskip('torchvision.transforms')
    bicubic = transforms.InterpolationMode.BICUBIC
    wanted = transforms.Compose([
        transforms.Resize(36, bicubic), transforms.CenterCrop(32), transforms.ToTensor(),
        transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    ])  # fmt: skip
    preprocess = mixcl.load_backbone(checkpoint).preprocess
    for image in map(Image.open, sorted(photos.glob('0*.png'))):
        torch.testing.assert_close(preprocess(image), wanted(image.convert('RGB')), rtol=0, atol=1e-5)


def test_transparent_pictures_are_embedded_on_the_background_of_the_run(photos: Path, tmp_path: Path) -> None:
    """Features are those of pictures that Pillow has composited before."""
    colour, random = (10, 200, 30), np.random.default_rng(0)
    for folder in ('hidden', 'seen'):
        (tmp_path / folder).mkdir()
    for path in sorted(photos.glob('*.png')):
        image = Image.open(path).convert('RGBA')
        image.putalpha(Image.fromarray(random.integers(0, 256, image.size[::-1], dtype=np.uint8)))
        image.save(tmp_path / 'hidden' / path.name)
        canvas = Image.new('RGBA', image.size, (*colour, 255))
        Image.alpha_composite(canvas, image).convert('RGB').save(tmp_path / 'seen' / path.name)
    hidden = tiny(tmp_path / 'hidden', tmp_path / 'a', background=colour)
    (log,) = (tmp_path / 'a').glob('*/*.log')
    assert '  19 of 19 images looked at have transparency, shown on rgb(10, 200, 30)\n' in log.read_text()
    files = sorted((tmp_path / 'hidden').iterdir())
    for images in (files, [Image.open(path) for path in files]):
        np.testing.assert_array_equal(mixcl.embed(hidden, images), mixcl.embed(hidden, tmp_path / 'seen'))


@pytest.mark.parametrize('images', [[3], [np.zeros((4, 4, 3))], [np.zeros((4, 4, 2), np.uint8)], 'photos', None, 3])
def test_what_is_no_image_is_refused(checkpoint: Path, images: list) -> None:
    with warnings.catch_warnings(), pytest.raises(UserError, match=r'uint8 array|put a single one into a list'):
        warnings.simplefilter('ignore')
        mixcl.embed(checkpoint, images)


def test_what_embed_cannot_do_is_refused(checkpoint: Path) -> None:
    with pytest.raises(UserError, match='encoder must be given to load_backbone'):
        mixcl.embed(mixcl.load_backbone(checkpoint), ['nothere.jpg'], encoder='target')
    with pytest.raises(UserError, match='none of the 1 images can be read'), pytest.warns(UserWarning):
        mixcl.embed(checkpoint, ['nothere.jpg'])


def fitted(images: int, method: str = 'patchmix', **given: int) -> Config:
    cfg = read_config(config_of(method))
    wanted = Fit(**given)
    fit_to(cfg, images, wanted)
    return made(cfg, wanted.processes)


def test_length_and_batch_follow_the_number_of_images() -> None:
    cases = {300: (64, 800, 75), 10_000: (128, 320, 10), 1_300_000: (128, 100, 10), 9: (4, 800, 150), 3: (3, 800, 266)}
    for images, chosen in cases.items():
        cfg = fitted(images)
        warmup = cfg.param_scheduler[0].warmup  # 300 steps, but at most a third of the epochs; else the recipe's
        assert (cfg.train_dataloader.batch_size, cfg.train_cfg.max_epochs, warmup) == chosen
        assert cfg.optim_wrapper.optimizer.lr == pytest.approx(5e-4 * chosen[0] / 256)
    cfg = fitted(300, 'mixco', epochs=20)
    assert cfg.model.memory.queue.size == 128 and cfg.default_hooks.checkpoint.interval == 2
    assert cfg.param_scheduler[0].warmup == 0  # as in its recipe
    assert fitted(300, epochs=20).param_scheduler[0].warmup == 6
    assert fitted(100_000, epochs=5).param_scheduler[0].warmup == 1
    cfg = fitted(300, 'mixco/simclr', epochs=50)
    (schedule,) = cfg.param_scheduler
    assert (schedule.T_max, schedule.begin, schedule.end) == (50, 5, 55)  # 100, 10 and 110 for 100 epochs
    (schedule,) = fitted(300, 'mixco/simclr', epochs=1).param_scheduler
    assert (schedule.T_max, schedule.begin, schedule.end) == (1, 0, 1)
    groups = [fitted(300, 'mixco', batch_size=size).model.target.get('groups', 8) for size in (64, 12, 10, 4)]
    assert groups == [8, 6, 5, 2]  # at least two images in each
    cfg = fitted(300, 'bsim/byol')  # its recipe is for 16 batches of 256 in a step
    assert 'accumulative_counts' not in cfg.optim_wrapper
    assert cfg.optim_wrapper.optimizer.lr == pytest.approx(0.3 * cfg.train_dataloader.batch_size / 256)
    with pytest.raises(UserError, match=r'at least 2 images; found 1$'):
        fitted(1)
    for wrong in (
        dict(images=5, batch_size=1),
        dict(images=300, batch_size=301),
        dict(images=300, batch_size=200, processes=2),
    ):
        with pytest.raises(UserError, match=r'`batch_size=.*` must be from 2 to'):
            fitted(**wrong)


def test_methods_and_hosts_have_configs() -> None:
    folders = {path.name for path in Path('configs').iterdir() if path.is_dir()} - {'_base_', 'evaluation', 'transfer'}
    assert all(config_of(method).parent.name == method for method in folders)
    for method, stem in (('patchmix', 'vit-s16_folder'), ('mixco/simclr', 'r18_tinyimagenet_simclr'),
                         ('patchmix/vit-xs4_digits', 'vit-xs4_digits'),
                         ('sdmp', 'vit-s16_in1k_mocov3'), ('sdmp/dino', 'vit-s16_in1k_dino')):  # fmt: skip
        assert config_of(method).stem == stem
    for method, stem in (('mocov2', 'r50_in1k'), ('byol', 'r50_in1k'), ('mixco', 'r50_in1k_mocov2'),
                         ('scalemix', 'r50_in1k_mocov2'), ('stitch', 'vit-s16_in1k_mocov3'),
                         ('patchmix', 'vit-s16_folder')):  # fmt: skip
        assert config_of(method, 'torchvision:resnet50').stem == stem
    for method, message in (
        ('bsim/dino', 'hosts mocov2, simclr'),
        ('stitch/dino', 'hosts mocov3$'),
        ('patchmax', 'choose one of aps, .*patchmix'),
    ):
        with pytest.raises(UserError, match=message):
            config_of(method)


def test_a_transformer_is_not_trained_by_a_recipe_of_resnets() -> None:
    for model, optimizer in (('timm:vit_small_patch16_224', 'AdamW'), ('timm:resnet18', 'SGD')):
        cfg = read_config(config_of('mixco/simclr'))
        use_recipe_of(cfg, model)
        assert cfg.optimizer.type == optimizer
