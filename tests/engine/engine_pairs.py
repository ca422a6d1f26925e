"""What each of two processes does for the tests of the engine; spawned processes can import this module."""

import hashlib
import os
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import hosts
import torch
from engine.failing_runs import policy, run_with
from engine.probe_runs import Watched
from engine.tiny_runs import BATCH_SIZE, STEPS_PER_EPOCH
from mmengine.dist import barrier, get_rank
from mmengine.model import MMDistributedDataParallel
from mmengine.optim import OptimWrapper, build_optim_wrapper
from mmengine.registry import DefaultScope
from torch import nn

from mixcl.algorithms import StepKey
from mixcl.distributed import whole
from mixcl.engine.hooks.gradient_clip import ParameterClipHook
from mixcl.engine.runners.activation_checkpointing import checkpoint_activations
from mixcl.engine.runners.sharding import MMFullyShardedDataParallel
from mixcl.errors import UserError
from mixcl.evaluation.features import evaluating

BATCH, STEPS, SEED = 4, 3, 5
MODELS = {
    'PatchMix': hosts.moco_v3(hosts.MIXERS['patchmix']),
    'a queue on a ResNet': hosts.moco_v2(hosts.MIXERS['cutmix'], 'resnet'),
    'weights in the objective': hosts.swav(hosts.MIXERS['cutmix']),
}
NO_DECAY = dict(constructor='FewGroupsConstructor', paramwise_cfg=dict(flat_decay_mult=0.0))
OPTIMIZERS = {
    'fused': NO_DECAY | dict(optimizer=dict(type='AdamW', lr=0.01, weight_decay=0.1, fused=True)),
    'SGD': NO_DECAY | dict(optimizer=dict(type='SGD', lr=0.05, momentum=0.9, weight_decay=0.1)),
    'MoCoLARS': dict(optimizer=dict(type='MoCoLARS', lr=0.5, weight_decay=0.1)),
    'LARS': dict(optimizer=dict(type='LARS', lr=0.5, momentum=0.9, weight_decay=0.1)),
    'clipped': dict(optimizer=dict(type='SGD', lr=0.05), clip_grad=dict(max_norm=0.1)),
    'accumulated': dict(optimizer=dict(type='SGD', lr=0.05), accumulative_counts=3),
}
"""Optimizers; most are SGD, since AdamW turns gradients that are zero up to rounding into steps."""

RUNS = [(name, 'SGD') for name in MODELS if name != 'PatchMix'] + [('PatchMix', name) for name in OPTIMIZERS]


def everything(folder: Path, rank: int) -> dict:
    """Return what one process of the pair finds, by name."""
    return dict(
        sharding={(*run, kind): train(*run, kind) for run in RUNS for kind in ('sharded', 'replicated')},
        failures={name: failing(folder / name, name, rank) for name in ('skip', 'raise')},
        probe=Watched().learn(slice(8 * rank, 8 * rank + 8), steps=4).hook.probe.state_dict(),
    )


def failing(work_dir: Path, name: str, rank: int) -> dict:
    """Train in both processes while the second one fails at one step; return message, weights and dumps."""
    os.environ['LOCAL_RANK'] = str(rank)
    wrapper = dict(type='MMDistributedDataParallel', broadcast_buffers=False, device_ids=None)
    images = dict(train_dataloader__dataset__dataset__indices=2 * BATCH_SIZE * STEPS_PER_EPOCH)
    launched = dict(launcher='pytorch', model_wrapper_cfg=wrapper)
    runner = run_with(work_dir, 'input', rank=1, **launched, **images, **policy(name))
    message = None
    try:
        runner.train()
    except UserError as error:
        message = str(error)
    barrier()  # both have written their dumps
    return dict(
        message=message,
        weights=[hashlib.sha256(after.numpy().tobytes()).hexdigest() for after in runner.recorded.after.values()],
        dumps=sorted(path.name for path in (work_dir / 'nonfinite').iterdir()),
    )


def train(model: str, optimizer: str, kind: str) -> dict:
    """Return losses of every step and the final state, features and share of the weights that this process holds."""
    wrapped, optim_wrapper = _prepared(model, optimizer, kind)
    losses = []
    for step in range(STEPS):
        if optimizer in ('fused', 'MoCoLARS', 'LARS'):  # like a NonFiniteHook that refuses the second step
            optim_wrapper.optimizer.found_inf = torch.tensor(float(step == 1))
        losses.append(_step(wrapped, optim_wrapper, step))
    learner = wrapped.module
    with evaluating(learner):
        images = hosts.crops(learner, BATCH, seed=99)[0]
        features = {name: learner.extract_features(images, name) for name in learner.encoder_names}
    parameters = list(learner.parameters())
    local = sum(getattr(p, '_local_tensor', p).numel() for p in parameters)
    return dict(
        losses=losses,
        state={name: whole(value).detach() for name, value in learner.state_dict().items()},
        features=features,
        share=local / sum(p.numel() for p in parameters),
    )


def _prepared(model: str, optimizer: str, kind: str) -> tuple[nn.Module, OptimWrapper]:
    torch.manual_seed(0)
    with DefaultScope.overwrite_default_scope('mixcl'):
        learner = hosts.MODELS.build(MODELS[model]).double()
        torch.manual_seed(1)
        learner.init_weights()
        sharded = kind == 'sharded'
        wrap = MMFullyShardedDataParallel if sharded else partial(MMDistributedDataParallel, broadcast_buffers=False)
        wrapped = wrap(learner)
        if sharded and optimizer == 'accumulated':  # all switches together
            checkpoint_activations(learner, 'backbone.layers')
        optim_wrapper = build_optim_wrapper(wrapped, OPTIMIZERS[optimizer])
    optim_wrapper.initialize_count_status(wrapped, 0, STEPS)
    if optimizer == 'clipped':  # all gradients together, and then each by itself
        ParameterClipHook(0.01).before_train(SimpleNamespace(optim_wrapper=optim_wrapper))
    return wrapped, optim_wrapper


def _step(wrapped: nn.Module, optim_wrapper: OptimWrapper, step: int) -> dict[str, float]:
    learner = wrapped.module
    learner.begin_step(StepKey(SEED, step, get_rank()))
    with optim_wrapper.optim_context(wrapped):
        outputs = wrapped(hosts.crops(learner, BATCH, seed=10 * step + get_rank()), mode='loss')
    loss, _ = learner.parse_losses(outputs)
    optim_wrapper.update_params(loss)
    if optim_wrapper.should_update():
        learner.end_step((step + 1) / STEPS, 1)
    return {name: value.item() for name, value in outputs.items()}
