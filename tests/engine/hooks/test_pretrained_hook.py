"""Runs that start from a pretrained backbone: when it is loaded, when not, and what is refused before the run."""

from pathlib import Path

import pytest
import torch
from engine.tiny_runs import run_config, trained
from mmengine.config import Config
from mmengine.runner import Runner

from mixcl.engine.runners.launch import build_runner
from mixcl.errors import UserError
from mixcl.recipes.run_options import use_pretrained
from mixcl.weights import read_pretrained


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, 'is_available', lambda: False)


@pytest.fixture(scope='module')
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp('pretraining')
    trained(run_config(folder, train_cfg__max_epochs=1))
    return str(folder / 'epoch_1.pth')


def config(work_dir: Path, **overrides: object) -> Config:
    """Return a config of one epoch at a learning rate of 0, which keeps the loaded weights."""
    return run_config(work_dir, optim_wrapper__optimizer__lr=0.0, train_cfg__max_epochs=1, **overrides)


def from_checkpoint(cfg: Config, checkpoint: str, encoder: str | None = None) -> Runner:
    use_pretrained(cfg, checkpoint, encoder)
    return build_runner(cfg)


@pytest.mark.parametrize('encoder', ['online', 'target'])
def test_both_encoders_start_from_it_and_a_resumed_run_needs_none(
    tmp_path: Path, checkpoint: str, encoder: str
) -> None:
    runner = from_checkpoint(config(tmp_path), checkpoint, encoder)
    runner.train()
    state, expected = runner.model.state_dict(), read_pretrained(checkpoint, encoder).state
    for name, value in expected.items():
        assert torch.equal(state[f'backbone.{name}'], value) and torch.equal(state[f'target.backbone.{name}'], value)
    assert not torch.equal(state['neck.fc0.weight'], torch.load(checkpoint)['state_dict']['neck.fc0.weight'])
    cfg = run_config(tmp_path, resume=True, optim_wrapper__optimizer__lr=0.0)
    use_pretrained(cfg, checkpoint, encoder)
    cfg.custom_hooks[-1].checkpoint = 'gone.pth'
    runner = build_runner(cfg)
    runner.train()
    assert runner.epoch == 2
    text = '\n'.join(path.read_text() for path in sorted(tmp_path.glob('*/*.log')))
    assert text.count('backbone from the') == 1
    assert f'backbone from the {encoder} encoder in {checkpoint}: format: mixcl; 30 tensors loaded; new: none;' in text


def test_the_protocol_decides_the_encoder_unless_the_command_line_does(tmp_path: Path, checkpoint: str) -> None:
    def chosen(asked: str | None, of_protocol: str | None = None) -> object:
        cfg = config(tmp_path)
        cfg.protocol = dict(name='knn', **({'encoder': of_protocol} if of_protocol else {}))
        use_pretrained(cfg, checkpoint, asked)
        return cfg.custom_hooks[-1].encoder

    assert chosen(None) == chosen(None, 'online') == chosen('online', 'target') == 'online'
    assert chosen('target', 'online') == chosen('target') == 'target'
    assert tuple(chosen(None, 'target')) == ('target', 'online')


def test_the_hook_of_a_config_keeps_its_settings(tmp_path: Path, checkpoint: str) -> None:
    hook = dict(type='PretrainedBackboneHook', checkpoint='another', new=['ln2.*'])
    cfg = config(tmp_path, model__backbone__out_type='avg_featmap', custom_hooks=[hook])
    with pytest.raises(UserError, match='no checkpoint file another'):
        build_runner(cfg)
    cfg.experiment_name += '_again'
    use_pretrained(cfg, checkpoint)
    assert [dict(hook) for hook in cfg.custom_hooks] == [dict(hook, checkpoint=checkpoint, encoder='online')]
    build_runner(cfg)
    use_pretrained(cfg, 'random')
    assert cfg.custom_hooks == []


def test_misfits_are_told_before_data_are_touched(tmp_path: Path, checkpoint: str) -> None:
    folder = dict(train_dataloader__dataset__dataset__type='ImageFolder')  # would fail for want of a folder
    with pytest.raises(UserError, match='trained with 2 attention heads, but the model has 4'):
        from_checkpoint(config(tmp_path, model__backbone__arch__num_heads=4, **folder), checkpoint)


def test_weights_from_two_places_or_for_nothing(tmp_path: Path, checkpoint: str) -> None:
    cfg = config(tmp_path, load_from=checkpoint)
    with pytest.raises(UserError, match='both give weights; leave one of them out'):
        use_pretrained(cfg, checkpoint)
    cfg.model = dict(type='RawPixels')
    with pytest.raises(UserError, match=r"model\.type='RawPixels' has none"):
        use_pretrained(cfg, checkpoint)
