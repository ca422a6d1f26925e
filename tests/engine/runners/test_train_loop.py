"""Short real runs: what a step depends on, gradient accumulation, what is logged, what is refused."""

import json
from pathlib import Path

import pytest
import tiny
from engine.tiny_runs import STEPS_PER_EPOCH, run_config, trained
from mmengine.runner import Runner
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from mixcl.engine.runners.launch import build_runner
from mixcl.errors import UserError

STEPS = 2 * STEPS_PER_EPOCH


def losses(runner: Runner, name: str = 'loss') -> list[float]:
    return runner.message_hub.get_scalar(f'train/{name}').data[0].tolist()


def test_the_log_tells_everything(tmp_path: Path) -> None:
    backends = [dict(type='LocalVisBackend'), dict(type='TensorboardVisBackend')]
    runner = trained(run_config(tmp_path, visualizer__vis_backends=backends))
    (log,) = tmp_path.glob('*/vis_data/scalars.json')
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    terms = [f'loss_{query}_{key}' for query, key, _ in tiny.PATCHMIX_TERMS]
    names = {'loss', 'lr', 'weight_decay', 'ema_momentum', 'feature_std', *terms}
    assert len(lines) == STEPS
    assert all(names <= set(line) for line in lines)
    # Halfway, the weight decay is halfway; the momentum rose from .9 to 1 with the last step.
    assert lines[0]['weight_decay'] == pytest.approx(0.04)
    assert lines[STEPS // 2]['weight_decay'] == pytest.approx(0.22)
    assert [lines[index]['ema_momentum'] for index in (STEPS // 2 - 1, -1)] == pytest.approx([0.95, 1.0])
    assert lines[0]['loss'] == pytest.approx(sum(lines[0][term] for term in terms), rel=1e-4)
    assert sum(losses(runner, terms[0])) < sum(losses(runner))
    events = EventAccumulator(str(log.parent)).Reload()
    assert names <= set(events.Tags()['scalars'])
    assert len(events.Scalars('feature_std')) == STEPS


@pytest.mark.parametrize(
    ('overrides', 'message'),
    [
        (dict(model__mixer__patch_size=3), 'images of 8x8 pixels cannot be cut into patches of 3x3'),
        (dict(model__mixer__num_mix=17), 'num_mix=17 images do not fit into the 4x4 patches'),
        (dict(train_dataloader__batch_size=2), 'num_mix=3 images cannot be mixed from the 2 images'),
        (dict(model__views=dict(view1=1, view2=2)), 'delivers 2 views per image'),
    ],
)
def test_what_cannot_be_mixed_is_refused_before_data_are_read(tmp_path: Path, overrides: dict, message: str) -> None:
    cfg = run_config(tmp_path, **overrides)
    cfg.train_dataloader.dataset.dataset.type = 'ImageFolder'  # which would want a folder
    with pytest.raises(UserError, match=message):
        build_runner(cfg)
