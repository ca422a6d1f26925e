"""Runs that start from a pretrained backbone: when it is loaded, when not, and what is refused before the run."""

from pathlib import Path

import pytest
import tiny
import torch
from engine.tiny_runs import BATCH_SIZE, run_config, trained
from mmengine.config import Config
from mmengine.runner import Runner
from torch import Tensor

from mixcl.engine.runners.command_options import use_pretrained
from mixcl.engine.runners.launch import build_runner
from mixcl.errors import UserError
from mixcl.weights import read_pretrained

VIT = tiny.model_config()['backbone']
LOSS = dict(type='mmpretrain.CrossEntropyLoss')


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, 'is_available', lambda: False)


@pytest.fixture(scope='module')
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp('pretraining')
    trained(run_config(folder, train_cfg__max_epochs=1))
    return str(folder / 'epoch_1.pth')


def classifier_config(work_dir: Path, backbone: dict = VIT, rate: float = 0.0, **overrides: object) -> Config:
    """One epoch of a classifier of digits; with a rate of 0 its weights are those that were loaded."""
    cfg = run_config(work_dir, train_cfg__max_epochs=1)
    cfg.model = dict(
        type='mmpretrain.ImageClassifier',
        backbone=backbone,
        head=dict(type='mmpretrain.LinearClsHead', num_classes=10, in_channels=16, loss=LOSS),
        data_preprocessor=dict(type='mmpretrain.ClsDataPreprocessor', mean=[127.5] * 3, std=[127.5] * 3),
    )
    cfg.train_cfg = dict(by_epoch=True, max_epochs=1)
    loader = cfg.train_dataloader
    loader.dataset = loader.dataset.dataset
    loader.dataset.pipeline = [
        dict(type='mmpretrain.Resize', scale=8, backend='pillow'), dict(type='mmpretrain.PackInputs')
    ]  # fmt: skip
    loader.sampler = dict(type='DefaultSampler', shuffle=True)
    cfg.custom_hooks = []
    cfg.optim_wrapper = dict(type='OptimWrapper', optimizer=dict(type='SGD', lr=rate))
    cfg.param_scheduler = []
    cfg.merge_from_dict({name.replace('__', '.'): value for name, value in overrides.items()})
    return cfg


def from_checkpoint(cfg: Config, checkpoint: str, encoder: str | None = None) -> Runner:
    use_pretrained(cfg, checkpoint, encoder)
    return build_runner(cfg)


def assert_loaded(state: dict[str, Tensor], checkpoint: str, encoder: str, prefix: str = 'backbone.') -> None:
    expected = read_pretrained(checkpoint, encoder).state
    assert all(torch.equal(state[prefix + name], value) for name, value in expected.items())


@pytest.mark.parametrize(('encoder', 'frozen'), [('online', False), ('target', True)])
def test_a_classifier_starts_from_the_encoder(tmp_path: Path, checkpoint: str, encoder: str, frozen: bool) -> None:
    backbone = dict(type='FrozenFeatures', backbone=VIT) if frozen else VIT
    runner = from_checkpoint(classifier_config(tmp_path, backbone), checkpoint, encoder)
    runner.train()
    assert_loaded(runner.model.state_dict(), checkpoint, encoder, 'backbone.backbone.' if frozen else 'backbone.')
    assert runner.model.head.fc.weight.std() > 0
    text = next(tmp_path.glob('*/*.log')).read_text()
    assert f'backbone from the {encoder} encoder in {checkpoint}: 30 tensors loaded, new: none, unused: none' in text


def test_a_learner_starts_both_encoders_from_it(tmp_path: Path, checkpoint: str) -> None:
    cfg = run_config(tmp_path, optim_wrapper__optimizer__lr=0.0, train_cfg__max_epochs=1)
    runner = from_checkpoint(cfg, checkpoint, 'target')
    runner.train()
    for prefix in ('backbone.', 'target.backbone.'):
        assert_loaded(runner.model.state_dict(), checkpoint, 'target', prefix)


def test_a_resumed_run_does_not_load_it_again_nor_need_it(tmp_path: Path) -> None:
    first = tmp_path / 'pretraining'
    trained(run_config(first, train_cfg__max_epochs=1))
    work_dir = tmp_path / 'run'
    from_checkpoint(run_config(work_dir, train_cfg__max_epochs=1), str(first / 'epoch_1.pth')).train()
    (first / 'epoch_1.pth').unlink()
    runner = from_checkpoint(run_config(work_dir, resume=True), str(first / 'epoch_1.pth'))
    runner.train()
    assert runner.epoch == 2
    text = '\n'.join(path.read_text() for path in sorted(work_dir.glob('*/*.log')))
    assert text.count('backbone from the online encoder') == 1


def encoder_config(work_dir: Path, **backbone: object) -> Config:
    cfg = run_config(work_dir)
    cfg.model = dict(type='FrozenEncoder', backbone=dict(VIT, **backbone))
    loader = dict(
        batch_size=BATCH_SIZE,
        collate_fn=dict(type='default_collate'),
        sampler=dict(type='DefaultSampler', shuffle=False),
        dataset=dict(
            type='Digits', split='test', indices=40,
            pipeline=[dict(type='mmpretrain.Resize', scale=8, backend='pillow'), dict(type='mmpretrain.PackInputs')],
        ),
    )  # fmt: skip
    cfg.test_dataloader = loader
    cfg.test_cfg = dict(type='FeatureLoop', bank_dataloader=loader)
    cfg.test_evaluator = dict(type='KNNAccuracy', neighbours=(1, 5))
    for name in ('train_dataloader', 'train_cfg', 'optim_wrapper', 'param_scheduler'):
        cfg[name] = None
    cfg.custom_hooks = []
    return cfg


def test_a_protocol_on_features_tests_the_encoder(tmp_path: Path, checkpoint: str) -> None:
    runner = from_checkpoint(encoder_config(tmp_path), checkpoint, 'target')
    metrics = runner.test()
    assert metrics['online_knn1_top1'] == 100, 'every query is its own neighbour'
    assert_loaded(runner.model.state_dict(), checkpoint, 'target', 'backbone.backbone.')


def test_the_protocol_decides_the_encoder_unless_the_command_line_does(tmp_path: Path, checkpoint: str) -> None:
    def chosen(asked: str | None, of_protocol: str | None = None) -> object:
        cfg = encoder_config(tmp_path)
        cfg.protocol = dict(name='knn', **({'encoder': of_protocol} if of_protocol else {}))
        use_pretrained(cfg, checkpoint, asked)
        return cfg.custom_hooks[-1].encoder

    assert chosen(None) == chosen(None, 'online') == chosen('online', 'target') == 'online'
    assert chosen('target', 'online') == chosen('target') == 'target'
    assert tuple(chosen(None, 'target')) == ('target', 'online')


def test_the_hook_of_a_config_keeps_its_settings(tmp_path: Path, checkpoint: str) -> None:
    hook = dict(type='PretrainedBackboneHook', checkpoint='another', new=['ln2.*'])
    cfg = classifier_config(tmp_path, dict(VIT, out_type='avg_featmap'), custom_hooks=[hook])
    with pytest.raises(UserError, match='no checkpoint file another'):
        build_runner(cfg)
    cfg.experiment_name += '_again'
    use_pretrained(cfg, checkpoint)
    assert [dict(hook) for hook in cfg.custom_hooks] == [
        dict(type='PretrainedBackboneHook', checkpoint=checkpoint, new=['ln2.*'], encoder='online')
    ]
    build_runner(cfg)
    use_pretrained(cfg, 'random')
    assert cfg.custom_hooks == []


@pytest.mark.parametrize(
    ('backbone', 'encoder', 'message'),
    [
        (
            dict(arch=dict(VIT['arch'], embed_dims=24)),
            'online',
            r'cls_token is \(1, 1, 16\) in the file and \(1, 1, 24',
        ),
        (dict(arch=dict(VIT['arch'], num_heads=4)), 'online', 'trained with 2 attention heads, the model has 4'),
    ],
)
def test_misfits_are_told_before_data_are_touched(
    tmp_path: Path, checkpoint: str, backbone: dict, encoder: str, message: str
) -> None:
    cfg = encoder_config(tmp_path, **backbone)
    cfg.test_dataloader.dataset.type = 'ImageFolder'  # would fail for want of a folder
    with pytest.raises(UserError, match=message) as raised:
        from_checkpoint(cfg, checkpoint, encoder)
    assert '\n' not in str(raised.value)


def test_weights_from_two_places_or_for_nothing(tmp_path: Path, checkpoint: str) -> None:
    cfg = classifier_config(tmp_path, load_from=checkpoint)
    with pytest.raises(UserError, match='both give weights; leave one of them out'):
        use_pretrained(cfg, checkpoint)
    cfg.model = dict(type='RawPixels')
    with pytest.raises(UserError, match=r"model\.type='RawPixels' has none"):
        use_pretrained(cfg, checkpoint)
    hook = dict(type='PretrainedBackboneHook', checkpoint=checkpoint, module='encoder')
    with pytest.raises(UserError, match="ImageClassifier of the config has no 'encoder'"):
        build_runner(classifier_config(tmp_path, custom_hooks=[hook]))
