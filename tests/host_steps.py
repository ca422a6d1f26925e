"""A training step of every host: by several processes, and, as their reference, by one with the batches of all.

This is a module of its own because the processes cannot import test modules.
"""

import dataclasses
import functools

import hosts
import torch
from mmengine.model import MMDistributedDataParallel
from torch import Tensor

from mixcl.algorithms import ContrastiveLearner, StepKey, Stream
from mixcl.composition import Composition
from mixcl.heads.sync_batch_norm import has_batch_norm

BATCH = 4
"""Images of one process."""

SEED, STEP, EPOCH = 3, 11, 10
PATCHMIX = hosts.moco_v3(hosts.MIXERS['patchmix'])
TWO_VIEWS = dict(streams=dict(mix1=dict(mix=('view1', 'view2'))))

MODELS = {
    'simclr': hosts.simclr(),
    'simclr on a synchronised ResNet': hosts.simclr(backbone='resnet')
    | dict(backbone=hosts.BACKBONES['resnet'] | dict(norm_cfg=dict(type='mixcl.SyncBatchNorm'))),
    'byol': hosts.byol(),
    'dino': hosts.dino(),
    'ibot': hosts.ibot(),
    'swav': hosts.swav(),
    'a term between patches': PATCHMIX
    | dict(
        patches=dict(tokens=3), terms=[*PATCHMIX['terms'], ('mix2', 'view2', 0.5, dict(level='patch'))], swap_views=0.0
    ),
    'aps': hosts.aps(),
    'aps without momentum': hosts.aps(target=dict(type='StopGrad')),
    'moco_v2 on a ResNet': hosts.moco_v2(backbone='resnet'),
    'moco_v1 with cutmix on a ResNet': hosts.moco_v1(hosts.MIXERS['cutmix'], 'resnet'),
    'half of the patches': hosts.dropping(PATCHMIX),
    'half of the patches of keys, too': hosts.dropping(hosts.simclr(hosts.MIXERS['cutmix'])),
    'smoothing': PATCHMIX | dict(objective=dict(type='InfoNCE', smoothing=0.1)),
    'barlow_twins': hosts.barlow_twins(),
    'barlow_twins, mixed from two views': hosts.barlow_twins(dict(type='Mixup', pairing='permutation')) | TWO_VIEWS,
    'two mixers': hosts.byol(hosts.MIXERS['cutmix'])
    | dict(streams=dict(mix1=dict(mix='view1'), mix2=dict(mix='view2', mixer=hosts.MIXERS['mixmask']))),
    'two crops per key': PATCHMIX
    | dict(
        views=dict(view1=1, view2=2),
        terms=[('view1', 'view2', 1.0), ('mix1', 'view2', 0.5), ('view2', 'view1', 0.5)],
        swap_views=0.0,
    ),
    **{
        f'{host} with {mixer}': function(hosts.MIXERS[mixer])
        for host, function in hosts.HOSTS.items()
        for mixer in hosts.MIXERS
    },
}
"""Every host with every mixer, and models that these leave out."""

FOUR = (
    *('moco_v3 with patchmix', 'simclr with cutmix', 'moco_v1 with resizemix', 'moco_v2 on a ResNet'),
    *('byol with mixup', 'dino with region_swap', 'swav with cutmix', 'aps'),
)
"""Models for four processes, one of each kind."""

OWN_KEYS = {name for name in MODELS if name.startswith('moco_v2 with')}
"""Models whose mixtures see the keys of their own process only."""


def build(name: str) -> ContrastiveLearner:
    torch.manual_seed(0)
    learner = hosts.build(MODELS[name]).double()
    for parameter in learner.parameters():
        parameter.data += 0.05 * torch.randn_like(parameter)
    learner.target.copy_weights(learner.backbone, learner.neck)
    return learner


def steps(names: tuple[str, ...], rank: int) -> dict[str, dict]:
    """Return the outcomes of one of several processes, by model."""
    return {name: step(name, rank) for name in names}


def step(name: str, rank: int) -> dict[str, dict[str, Tensor]]:
    """Return the losses, averaged gradients and buffers of one training step."""
    learner = build(name)
    parallel = MMDistributedDataParallel(learner, broadcast_buffers=False)
    learner.begin_step(StepKey(SEED, STEP, rank), EPOCH)
    losses = parallel(*inputs(learner, rank), mode='loss')
    learner.parse_losses(losses)[0].backward()
    return outcome(learner, losses)


def inputs(learner: ContrastiveLearner, rank: int) -> tuple:
    return hosts.crops(learner, BATCH, seed=rank), hosts.samples(learner, BATCH, seed=rank)


def outcome(learner: ContrastiveLearner, losses: dict[str, Tensor]) -> dict[str, dict[str, Tensor]]:
    return dict(
        losses={key: value.detach() for key, value in losses.items() if 'loss' in key},
        gradients={key: p.grad for key, p in learner.named_parameters() if p.requires_grad},
        memory={
            key: value
            for key, value in learner.named_buffers()
            if key.startswith(('memory.', 'objective.', 'patches.'))
        },
    )


@functools.cache
def one_process(name: str, processes: int = 2) -> dict[str, dict[str, Tensor]]:
    """Return the outcome of one process: mean losses, their gradients, and buffers."""
    learner = build(name)
    if name in OWN_KEYS:
        found = []
        for rank in range(processes):
            learner.begin_step(StepKey(SEED, STEP, rank), EPOCH)
            found.append(learner(*inputs(learner, rank), mode='loss'))
            learner.memory['queue'].load_state_dict(build(name).memory['queue'].state_dict())
    else:
        streams = whole_batch(learner, processes)
        learner.target.groups = processes  # one shuffled group per process
        learner.build_streams = lambda crops, data_samples: streams
        if has_batch_norm(learner.backbone) and 'synchronised' not in name:
            by_parts(learner, processes)
        found = [learner([], mode='loss')]
    means = {key: sum(losses[key] for losses in found) / len(found) for key in found[0] if 'loss' in key}
    sum(means.values()).backward()
    return outcome(learner, means)


def whole_batch(learner: ContrastiveLearner, processes: int) -> tuple[dict[str, Stream], ...]:
    """Concatenate the streams of all processes, as either encoder sees them, each mixed within its process."""
    parts = []
    for rank in reversed(range(processes)):  # the step goes on with the key of the first
        learner.begin_step(StepKey(SEED, STEP, rank), EPOCH)
        parts.insert(0, learner.build_streams(*inputs(learner, rank)))
    sides = [[part[side] for part in parts] for side in range(2)]
    return tuple({name: joined([part[name] for part in side]) for name in side[0]} for side in sides)


def joined(parts: list[Stream]) -> Stream:
    return dataclasses.replace(
        parts[0],
        images=torch.cat([part.images for part in parts]),
        composition=Composition.cat([part.composition for part in parts]),
        tokens=None if parts[0].tokens is None else torch.cat([part.tokens for part in parts]),
        mask=None if parts[0].mask is None else torch.cat([part.mask for part in parts]),
    )


def by_parts(learner: ContrastiveLearner, processes: int) -> None:
    """Let the online backbone compute batch statistics per process, as it does without synchronised batch norm."""
    encode = learner.backbone.forward
    learner.backbone.forward = lambda images: torch.cat([encode(part)[-1] for part in images.chunk(processes)])
