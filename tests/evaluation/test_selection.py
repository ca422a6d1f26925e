"""Which config is chosen for a checkpoint."""

from pathlib import Path

import pytest

from mixcl.engine.runners.launch import read_config
from mixcl.errors import UserError
from mixcl.evaluation.adaptation import image_size
from mixcl.evaluation.selection import PROTOCOLS, data_of, families_of, find_config

CONFIGS = Path(__file__).parents[2] / 'configs'
DATA = ('in1k', 'in100', 'cifar10', 'cifar100', 'tinyimagenet', 'digits', 'fashionmnist')


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    linear = tmp_path / 'evaluation' / 'linear'
    linear.mkdir(parents=True)
    names = ('any_in1k', 'vit-s16_in1k', 'vit-s16_in1k_mocov3', 'vit-s16_in1k_sdmp', 'any_in1k_long', 'vit-b16_in1k_x')
    names += ('vit-s16_in1k_sdmp_dino',)
    for name in names:
        (linear / f'{name}.py').touch()
    return tmp_path


@pytest.mark.parametrize(
    ('config_name', 'recipe', 'expected'),
    [
        ('sdmp/vit-s16_in1k_mocov3', None, 'vit-s16_in1k_sdmp'),
        ('sdmp/vit-s16_in1k_dino_100e', None, 'vit-s16_in1k_sdmp_dino'),
        ('imix/vit-s16_in1k_mocov3', None, 'vit-s16_in1k_mocov3'),
        ('patchmix/vit-s16_cifar10', None, 'vit-s16_in1k'),
        ('patchmix/vit-b16_in1k', None, 'any_in1k'),
        (None, None, 'any_in1k'),
        ('my_config', None, 'any_in1k'),
        ('sdmp/vit-s16_in1k_mocov3', 'long', 'any_in1k_long'),
        ('sdmp/vit-s16_in1k_dino', 'mocov3', 'vit-s16_in1k_mocov3'),
        ('sdmp/vit-b16_in1k', 'x', 'vit-b16_in1k_x'),
    ],
)
def test_the_most_special_config_is_taken(
    folder: Path, config_name: str | None, recipe: str | None, expected: str
) -> None:
    assert find_config(folder, 'linear', 'in1k', config_name, recipe).stem == expected


RESNET, CIFAR = dict(type='mmpretrain.ResNet', depth=18), dict(type='mmpretrain.ResNet_CIFAR', depth=18)


def test_families() -> None:
    assert families_of(RESNET) == ('resnet',)
    assert families_of(CIFAR) == ('resnet-cifar', 'resnet')
    assert families_of(dict(type='ContrastiveViT')) == families_of(None) == ()


@pytest.mark.parametrize(
    ('protocol', 'recipe'), [('linear', None), ('finetune', None), ('semi', None), ('semi', '1percent')]
)
@pytest.mark.parametrize('data', DATA)
@pytest.mark.parametrize('backbone', [RESNET, CIFAR], ids=['resnet', 'cifar'])
def test_residual_networks_get_recipes_of_their_own(
    protocol: str, recipe: str | None, data: str, backbone: dict
) -> None:
    for name in ('mine/r18_cifar10_x', None):
        path = find_config(CONFIGS, protocol, data, name, recipe, families_of(backbone))
        cfg = read_config(path)
        assert cfg.optim_wrapper.optimizer.type == 'SGD' and 'LayerDecay' not in cfg.optim_wrapper.constructor
        assert cfg.protocol.encoder == 'online'
        assert cfg.data_preprocessor.num_classes == cfg.model.head.num_classes
        if protocol != 'linear' and data in ('cifar10', 'cifar100'):
            assert image_size(cfg) == (224 if backbone is RESNET else 32)


@pytest.mark.parametrize(
    ('config_name', 'backbone', 'expected'),
    [
        ('mine/r18_cifar10', CIFAR, 'resnet-cifar_cifar10'),  # r18_cifar10 enlarges the images
        ('mine/r18_cifar10', RESNET, 'r18_cifar10'),
        ('mocov3/r50_cifar10', CIFAR, 'r50_cifar10_mocov3'),
        ('mocov3/r50_in1k', RESNET, 'r50_cifar10'),  # r50_cifar10_mocov3 does not
    ],
)
def test_a_recipe_for_another_stem_is_passed_over(config_name: str, backbone: dict, expected: str) -> None:
    assert find_config(CONFIGS, 'linear', 'cifar10', config_name, None, families_of(backbone)).stem == expected


@pytest.mark.parametrize(('data', 'recipe'), [('cifar10', None), ('in1k', 'x')])
def test_without_a_config_it_lists_those_that_exist(folder: Path, data: str, recipe: str | None) -> None:
    with pytest.raises(UserError, match=f'no config for the protocol linear on {data}.*any_in1k, any_in1k_long'):
        find_config(folder, 'linear', data, 'aps/vit-s16_in1k', recipe)


def test_protocols_with_data_of_their_own() -> None:
    assert data_of('knn', 'cifar10') == ('cifar10',)
    assert data_of('svm', 'in1k') == data_of('lowshot', 'voc07') == ('voc07',)
    assert data_of('robustness', 'in1k') == ('in1k', 'imagenet-a', 'imagenet-r', 'imagenet-c')
    assert data_of('robustness', 'imagenet-c') == ('imagenet-c',)
    with pytest.raises(UserError, match='--data cifar10 has none'):
        data_of('robustness', 'cifar10')


@pytest.mark.parametrize('data', DATA)
def test_the_knn_configs_are_the_papers_protocol(data: str) -> None:
    cfg = read_config(find_config(CONFIGS, 'knn', data))
    assert cfg.protocol.name == 'knn' and cfg.protocol.encoder == 'target'
    assert (cfg.test_evaluator.neighbours, cfg.test_evaluator.temperature) == ((10, 20, 100, 200), 0.07)
    assert (cfg.protocol.neighbours, cfg.protocol.temperature) == ((10, 20, 100, 200), 0.07)
    assert cfg.train_dataloader is None and cfg.val_cfg is None
    for loader in (cfg.test_dataloader, cfg.test_cfg.bank_dataloader):
        dataset = loader.dataset
        pipeline = dataset.dataset.pipeline if dataset.type == 'KeyedDataset' else dataset.pipeline
        sizes = [step.scale for step in pipeline if 'scale' in step]
        crops = [step.crop_size for step in pipeline if 'crop_size' in step]
        assert sizes == [cfg.protocol.resize] and (crops or sizes) == [cfg.protocol.crop]


@pytest.mark.parametrize('path', sorted((CONFIGS / 'evaluation').glob('*/*.py')), ids=lambda path: path.stem)
def test_every_config_says_which_protocol_it_is(path: Path) -> None:
    protocol = read_config(path).protocol
    assert protocol.name == path.parent.name and protocol.name in PROTOCOLS
    assert protocol.version >= 1
