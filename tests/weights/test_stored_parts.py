"""Configs stored in a file build what ours build, and nothing that runs, opens or imports anything else."""

import copy
from pathlib import Path

import pytest
import torch
from mmengine.config import Config
from weights.marks import marker

from mixcl.errors import UserError
from mixcl.recipes.images import image_pipeline
from mixcl.recipes.paths import innermost
from mixcl.recipes.prepared import prepared
from mixcl.recipes.subject import read_subject
from mixcl.registry import MODELS, TRANSFORMS
from mixcl.weights import allow_pickle, backbone_config, checked_part, checked_run
from mixcl.weights.stored_parts import BUILDABLE, LEFT_OUT

CONFIGS = Path(__file__).parents[2] / 'configs'
BACKBONE = dict(type='mmpretrain.ResNet_CIFAR', depth=18)


def test_what_our_configs_build_passes() -> None:
    for name in ('patchmix/vit-s16_in1k', 'mixco/r18_tinyimagenet_mocov2', 'dino/vit-s16_in1k'):
        cfg = copy.deepcopy(prepared(CONFIGS / f'{name}.py'))
        parts = (
            (backbone_config(cfg), MODELS),
            (dict(cfg.data_preprocessor), MODELS),
            (image_pipeline(cfg), TRANSFORMS),
        )
        for part, registry in parts:
            assert part == checked_part(part, registry, 'a.pth', name)
    classifier = Config.fromfile(CONFIGS / 'evaluation/recipes/finetune/deit.py').model.to_dict()
    assert checked_part(classifier, MODELS, 'a.pth', 'model').keys() == classifier.keys() - LEFT_OUT


def test_what_the_figures_of_a_run_build_passes() -> None:
    for name in (
        'mixco/r18_tinyimagenet_mocov2',
        'patchmix/vit-s16_in1k',
        'dino/vit-s16_in1k',
        'mochi/vit-s16_in1k_mocov3',
    ):
        cfg = copy.deepcopy(prepared(CONFIGS / f'{name}.py'))
        found = checked_run(cfg.to_dict(), 'a.pth')
        assert found.model.mixer == cfg.model.get('mixer') if 'mixer' in cfg.model else 'mixer' not in found.model
        assert found.train_dataloader.dataset == cfg.train_dataloader.dataset
        cfg.train_dataloader.dataset.cache = dict(folder='/a/folder')
        assert checked_run(cfg.to_dict(), 'a.pth').train_dataloader == found.train_dataloader
        steps = innermost(cfg.train_dataloader.dataset)['pipeline']
        steps[0] = dict(type='os.system')
        with pytest.raises(UserError, match=r'pipeline\[0\]\.type=.*no class that any file may name'):
            checked_run(cfg.to_dict(), 'a.pth')
    images = dict(type='HuggingFaceImages', source='a/b')
    with pytest.raises(UserError, match=r"dataset\.source='a/b', which is no plain value"):
        checked_run(dict(train_dataloader=dict(dataset=images)), 'a.pth')


def test_first_weights_and_training_are_left_out() -> None:
    more = dict(init_cfg=dict(type='Pretrained', checkpoint='https://a.b/c.pth'), pretrained='x:y', train_cfg=[print])
    model = dict(type='mmpretrain.ImageClassifier', backbone={**BACKBONE, **more}, **more)
    found = checked_part(model, MODELS, 'a.pth', 'model')
    assert found == dict(type='mmpretrain.ImageClassifier', backbone=BACKBONE)


def test_every_name_of_the_list_is_that_of_a_class_of_its_library() -> None:
    for library, names in BUILDABLE.items():
        for name in names:
            scopes = [f'{library}.{name}', name] if library == 'mmpretrain' else [name, f'mmengine.{name}']
            found = [each for kind in scopes for r in (MODELS, TRANSFORMS) if (each := r.get(kind))]
            assert any(each.__module__.partition('.')[0] == library for each in found), name


ATTACKS = (
    dict(type='evil.run'),
    dict(type='os.system', command='x'),
    dict(type=['mmpretrain.ResNet']),
    dict(type='mmpretrain.models.backbones.ResNet', depth=18),  # its path would be imported
    dict(type='mmengine.load', file='a.pkl'),
    dict(type='KNNAccuracy'),  # in another registry
    dict(type='LoadImage'),
    dict(type='mmpretrain.HuggingFaceClassifier', model_name='a', trust_remote_code=True),
    dict(type='mmpretrain.VQAGenerationHead', answer_list_path='a.pkl'),
    dict(type='mmpretrain.LAD', teacher_config='a.py'),
    dict(type='mmpretrain.MultiModalDataPreprocessor'),  # registered, harmless, and nothing of ours
    dict(type='functools.partial'),
    dict(BACKBONE, _scope_='evil'),
    dict(BACKBONE, norm_cfg=dict(type='evil.run')),
    dict(type='TimmBackbone', name='hf-hub:evil/evil'),
    dict(type='TimmBackbone', name='vit_tiny_patch16_224', arguments=dict(norm_layer='evil.run')),
    dict(type='ImportedBackbone', path='evil:run'),
    dict(BACKBONE, style='{{$HOME:x}}'),
    dict(BACKBONE, style="'+print()"),
    {**BACKBONE, '\uff54ype': 'evil'},  # in a config file Python reads it as 'type'
    {**BACKBONE, "a': evil.run(), 'b": 1},  # mmengine writes keys unescaped
    dict(BACKBONE, x={1, 2}),
    dict(BACKBONE, backend_args=dict(backend='memcached', sys_path='evil')),
)  # fmt: skip


@pytest.mark.parametrize('attack', ATTACKS, ids=str)
def test_attacks(attack: dict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = marker(tmp_path, monkeypatch)
    for part in (attack, [attack], dict(type='FrozenFeatures', backbone=attack)):
        with pytest.raises(UserError, match=r'the config in a\.pth has p.*by `config=FILE`'):
            checked_part(part, MODELS, 'a.pth', 'p')
    assert not ran.exists()


def test_attacks_by_transforms() -> None:
    for attack in (
        dict(type='evil.run'),
        dict(type='torchvision/Lambda', lambd='evil.run'),
        dict(type='RandomChoiceResize', scales=[1], resize_type='evil.run'),
        dict(type='LoadImageFromFile', file_client_args=dict(backend='memcached', sys_path='evil')),
    ):
        with pytest.raises(UserError, match=r'the config in a\.pth has pipeline\[0\]'):
            checked_part([attack], TRANSFORMS, 'a.pth', 'pipeline')


def test_files_that_are_trusted_may_do_anything() -> None:
    with allow_pickle():
        for attack in ATTACKS:
            assert checked_part(copy.copy(attack), MODELS, 'a.pth', 'p') == attack


@pytest.mark.parametrize(
    'wrong', [dict(embed_dims=192, num_heads=100_000), dict(patch_size=0), dict(mean='abc'), dict(std=[0, 0, 0])]
)
def test_values_that_no_config_may_have(wrong: dict) -> None:
    with pytest.raises(UserError, match=rf'the config in a.pth has model\.{[*wrong][-1]}=.*, which must be'):
        checked_part(dict(type='VisionTransformer', **wrong), MODELS, 'a.pth', 'model')


@pytest.mark.parametrize('key', ['num_layers', 'embed_dims'])
@pytest.mark.parametrize('value', [10**9, 50_000])
def test_models_larger_than_the_file_are_refused_before_they_take_memory(key: str, value: int, tmp_path: Path) -> None:
    arch = dict(embed_dims=16, num_layers=1, num_heads=2, feedforward_channels=32)
    backbone = dict(type='ContrastiveViT', arch=arch, img_size=8, patch_size=4)
    state = {f'backbone.{name}': tensor for name, tensor in MODELS.build(backbone).state_dict().items()}
    for settings, refused in ((backbone, False), (dict(backbone, arch=dict(arch, **{key: value})), True)):
        text = Config(dict(model=dict(backbone=settings))).pretty_text
        torch.save(dict(state_dict=state, meta=dict(cfg=text)), tmp_path / 'some.pth')
        if refused:
            with pytest.raises(UserError, match=r'which is above 100,000|far more than the file holds'):
                read_subject(str(tmp_path / 'some.pth'))
        else:
            read_subject(str(tmp_path / 'some.pth'))


def test_an_evaluation_refuses_before_anything_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran, path, vit = marker(tmp_path, monkeypatch), tmp_path / 'foreign.pth', "backbone=dict(type='ContrastiveViT')"
    for model in (
        "dict(backbone=dict(type='evil.run'))",
        f"dict(type='mmpretrain.ImageClassifier', {vit}, head=dict(type='evil.run'))",
    ):
        torch.save(dict(state_dict={'backbone.x': torch.zeros(1)}, meta=dict(cfg=f'model = {model}\n')), path)
        with pytest.raises(UserError, match=r"foreign\.pth has .*type='evil\.run', which is no class"):
            read_subject(str(path))
    assert not ran.exists()
