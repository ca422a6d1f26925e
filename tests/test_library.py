"""Parts of mixcl work without configs and Runner, as docs/library.md shows; short names are loaded lazily."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from tools.command import ENVIRONMENT

import mixcl

ROOT = Path(__file__).parent.parent
BLOCKS = re.findall(r'```python\n(.*?)```', (ROOT / 'docs/library.md').read_text(), re.DOTALL)


def test_short_names_are_what_they_say() -> None:
    for name in set(dir(mixcl)) - set(vars(mixcl)):
        assert getattr(mixcl, name).__name__ == name
    with pytest.raises(AttributeError, match='PatchMixer'):
        _ = mixcl.PatchMixer


UNTOUCHED = """
import logging, os, signal, sys, warnings

def state():
    loggers = [logging.root, *logging.root.manager.loggerDict.values()]
    return dict(
        environment=dict(os.environ), filters=list(warnings.filters),
        handlers=[handler for logger in loggers for handler in getattr(logger, 'handlers', [])],
        disabled=logging.root.manager.disable, blocked=[name for name in sys.modules if sys.modules[name] is None],
        finders=list(sys.meta_path), hook=sys.excepthook, signals=[signal.getsignal(number) for number in range(1, 32)],
    )

before = state()
import mixcl
assert 'PatchMix' in dir(mixcl) and state() == before
assert not {'torch', 'timm', 'mmengine'} & set(sys.modules)
sys.modules['transformers'] = None  # it takes seconds, and nothing here needs it
import mmcv.transforms, mmengine.runner, mmengine.visualization, sklearn.svm, timm, torch, torch.utils.tensorboard
import matplotlib.figure, torch.distributed.checkpoint, torch.distributed.fsdp, torch.onnx, torch.distributed.nn
from mmpretrain.utils import dependency
multimodal = dependency.WITH_MULTIMODAL
dependency.WITH_MULTIMODAL = False
import mmpretrain.datasets, mmpretrain.models
dependency.WITH_MULTIMODAL = multimodal
before = state()
from mixcl import PatchMix, InfoNCE, ContrastiveLearner, embed, train, pretrain
assert 'mixcl.visualization' not in sys.modules
from mixcl import evaluate, export
after = state()
assert after == before, [name for name in before if after[name] != before[name]]
assert dependency.WITH_MULTIMODAL == multimodal
"""


def test_importing_mixcl_sets_nothing_in_the_process() -> None:
    """Only what the imported packages themselves set may change. Training needs no figures."""
    done = subprocess.run([sys.executable, '-c', UNTOUCHED], env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]


def test_a_mixer_and_its_targets() -> None:
    names: dict = {}
    exec(BLOCKS[0], names)
    assert names['composition'].sources[0].tolist() == [0, 1, 2]
    # By hand: the log-softmax of cosines divided by .2, averaged over the row's three images.
    cosines = torch.nn.functional.cosine_similarity(names['queries'][:, None], names['keys'][None], dim=2)
    wanted = sum(cosines.div(0.2).log_softmax(1)[row, (row + torch.arange(3)) % 8].mean() for row in range(8)) / -8
    torch.testing.assert_close(names['loss'], wanted)


def test_a_plain_loop_trains_the_online_encoder_and_moves_the_target(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(BLOCKS[1].split('optimizer = ')[1].splitlines()) <= 25
    names: dict = {}
    exec(BLOCKS[1].replace('STEPS = 32, 4', 'STEPS = 32, 2'), names)
    learner = names['learner']
    assert names['features'].shape == (8, 512) and torch.isfinite(names['loss'])
    pairs = zip(learner.backbone.parameters(), learner.target.backbone.parameters(), strict=True)
    moved = [(online - target).abs().max() for online, target in pairs]
    assert 0 < max(moved) < 0.1 and all(parameter.grad is not None for parameter in learner.backbone.parameters())


def test_lightning() -> None:
    lightning = pytest.importorskip('lightning')
    names: dict = {}
    exec(BLOCKS[2], names)
    settings = BLOCKS[1].split('learner = ContrastiveLearner(')[1].split('\n)\n')[0]
    model = names['Pretraining'](**eval(f'dict({settings}\n)'))
    before = [parameter.clone() for parameter in model.learner.target.backbone.parameters()]
    loader = torch.utils.data.DataLoader([[torch.rand(3, 32, 32), torch.rand(3, 32, 32)] for _ in range(16)], 8)
    quiet = dict(logger=False, enable_checkpointing=False, enable_progress_bar=False)
    trainer = lightning.Trainer(max_epochs=1, accelerator='cpu', **quiet)
    trainer.fit(model, loader)
    assert trainer.global_step == 2
    after = model.learner.target.backbone.parameters()
    assert any(not torch.equal(old, new) for old, new in zip(before, after, strict=True))
