"""What the tests of sharding have each of two processes do; importable, as spawned processes need it."""

from functools import partial
from types import SimpleNamespace

import hosts
import torch
from mmengine.dist import get_rank
from mmengine.model import MMDistributedDataParallel
from mmengine.optim import OptimWrapper, build_optim_wrapper
from mmengine.registry import DefaultScope
from torch import nn

from mixcl.algorithms import StepKey
from mixcl.distributed import whole
from mixcl.engine.hooks.parameter_clip import ParameterClipHook
from mixcl.engine.runners.sharding import MMFullyShardedDataParallel
from mixcl.evaluation.features import evaluating

BATCH, STEPS, SEED = 4, 3, 5
CUTMIX = hosts.MIXERS['cutmix']
MODELS = {
    'PatchMix': hosts.moco_v3(hosts.MIXERS['patchmix']),
    'a queue on a ResNet': hosts.moco_v2(CUTMIX, 'resnet'),
    'SimCLR': hosts.simclr(CUTMIX),
    'BYOL on a synchronised ResNet': hosts.byol(CUTMIX, 'resnet')
    | dict(backbone=hosts.BACKBONES['resnet'] | dict(norm_cfg=dict(type='mixcl.SyncBatchNorm'))),
    'SimSiam': hosts.simsiam(CUTMIX),
    'DINO': hosts.dino(CUTMIX),
}
NO_DECAY = dict(constructor='FewGroupsConstructor', paramwise_cfg=dict(flat_decay_mult=0.0))
OPTIMIZERS = {
    'AdamW': NO_DECAY | dict(optimizer=dict(type='AdamW', lr=0.01, weight_decay=0.1)),
    'SGD': NO_DECAY | dict(optimizer=dict(type='SGD', lr=0.05, momentum=0.9, weight_decay=0.1)),
    'LARS': dict(optimizer=dict(type='MoCoLARS', lr=0.5, weight_decay=0.1)),
    'clipped together': dict(optimizer=dict(type='SGD', lr=0.05), clip_grad=dict(max_norm=0.1)),
    'clipped each': dict(optimizer=dict(type='SGD', lr=0.05)),
    'accumulated': dict(optimizer=dict(type='SGD', lr=0.05), accumulative_counts=3),
}
"""SGD where nothing else is said: AdamW turns gradients that are zero but for rounding into steps."""


def everything(rank: int) -> dict[tuple[str, str, str], dict]:
    """Several steps of every model, and of one model with every optimiser, sharded and not."""
    runs = [(model, 'SGD') for model in MODELS] + [('PatchMix', name) for name in OPTIMIZERS]
    return {(*run, kind): train(*run, kind) for run in dict.fromkeys(runs) for kind in ('sharded', 'replicated')}


def train(model: str, optimizer: str, kind: str) -> dict:
    """Losses of every step; weights, buffers, features and the share of the weights that this process holds after."""
    wrapped, optim_wrapper = _prepared(model, optimizer, kind)
    losses = [_step(wrapped, optim_wrapper, step) for step in range(STEPS)]
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
        sharded = kind == 'sharded'
        wrap = MMFullyShardedDataParallel if sharded else partial(MMDistributedDataParallel, broadcast_buffers=False)
        wrapped = wrap(learner)
        optim_wrapper = build_optim_wrapper(wrapped, OPTIMIZERS[optimizer])
    torch.manual_seed(1)
    learner.init_weights()
    if sharded:
        learner.state_dict()  # as the Runner does
    optim_wrapper.initialize_count_status(wrapped, 0, STEPS)
    if optimizer == 'clipped each':
        ParameterClipHook(0.01).before_train(SimpleNamespace(optim_wrapper=optim_wrapper))
    return wrapped, optim_wrapper


def _step(wrapped: nn.Module, optim_wrapper: OptimWrapper, step: int) -> dict[str, float]:
    learner = wrapped.module
    learner.begin_step(StepKey(SEED, step, get_rank()), step / STEPS)
    with optim_wrapper.optim_context(wrapped):
        outputs = wrapped(hosts.crops(learner, BATCH, seed=10 * step + get_rank()), mode='loss')
    loss, _ = learner.parse_losses(outputs)
    optim_wrapper.update_params(loss)
    if optim_wrapper.should_update():
        learner.end_step((step + 1) / STEPS, 1)
    return {name: value.item() for name, value in outputs.items()}
