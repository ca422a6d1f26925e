"""What one process with the batches of several computes in a step of a host: the truth for those several."""

import functools

import host_pairs
import torch
from host_pairs import OWN_KEYS, PROGRESS, SEED, STEP
from torch import Tensor

from mixcl.algorithms import ContrastiveLearner, StepKey, Stream
from mixcl.composition import Composition
from mixcl.encoders.sync_batch_norm import has_batch_norm


def whole_batch(learner: ContrastiveLearner, processes: int) -> dict[str, Stream]:
    """The streams of all processes, each mixed within its process, one after the other."""
    parts = []
    for rank in range(processes):
        learner.begin_step(StepKey(SEED, STEP, rank), PROGRESS)
        parts.append(learner.build_streams(host_pairs.crops(learner, rank), host_pairs.samples(learner, rank)))
    learner.begin_step(StepKey(SEED, STEP, 0), PROGRESS)
    return {name: joined([part[name] for part in parts]) for name in parts[0]}


def joined(parts: list[Stream]) -> Stream:
    return Stream(
        torch.cat([part.images for part in parts]),
        Composition.cat([part.composition for part in parts]),
        None if parts[0].tokens is None else torch.cat([part.tokens for part in parts]),
    )


def by_parts(learner: ContrastiveLearner, processes: int) -> None:
    """Give each process's rows batch statistics of their own in the online backbone, where they are not shared."""
    encode = learner.backbone.forward
    learner.backbone.forward = lambda images: torch.cat([encode(part)[-1] for part in images.chunk(processes)])


def outcome(learner: ContrastiveLearner, losses: list[dict[str, Tensor]]) -> dict[str, dict[str, Tensor]]:
    """Losses, gradients of their mean over the processes, and what the step remembers."""
    means = {key: sum(found[key] for found in losses) / len(losses) for key in losses[0] if 'loss' in key}
    sum(means.values()).backward()
    return dict(
        losses={key: value.detach() for key, value in means.items()},
        gradients={key: p.grad for key, p in learner.named_parameters() if p.requires_grad},
        memory={key: value for key, value in learner.named_buffers() if key.startswith(('memory.', 'objective.'))},
    )


@functools.cache
def one_process(name: str, processes: int = 2) -> dict[str, dict[str, Tensor]]:
    learner = host_pairs.build(name)
    learner.begin_step(StepKey(SEED, STEP, 0), PROGRESS)
    if name in OWN_KEYS:
        found = []
        for rank in range(processes):
            learner.begin_step(StepKey(SEED, STEP, rank), PROGRESS)
            found.append(learner(host_pairs.crops(learner, rank), mode='loss'))
            learner.memory['queue'].load_state_dict(host_pairs.build(name).memory['queue'].state_dict())
        return outcome(learner, found)
    streams = whole_batch(learner, processes)
    learner.target.groups = processes  # of shuffled batch normalisation
    learner.build_streams = lambda crops, data_samples: streams
    if has_batch_norm(learner.backbone) and 'synchronised' not in name:
        by_parts(learner, processes)
    return outcome(learner, [learner([], mode='loss')])
