"""Similarity of mixtures to their sources and to each other, beside the target that the loss asks for."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from matplotlib.figure import Figure
from mmengine.dataset import default_collate
from torch import Tensor, nn

from mixcl.algorithms import ContrastiveLearner, PatchSamplingLearner, StepKey
from mixcl.composition import SoftTarget
from mixcl.errors import UserError
from mixcl.evaluation.untrained import untrained
from mixcl.losses import DINODistillation, Similarity, SwAV
from mixcl.losses.info_nce import normalised
from mixcl.randomness import seed_global_generators
from mixcl.visualization.canvas import finished, plain
from mixcl.visualization.pictured import Pictured, spread, training_set
from mixcl.weights import check_fits, read_checkpoint, weights_of
from mixcl.weights.teacher import Teacher


class TermSimilarity(NamedTuple):
    """One row of the table of terms: the target (R, G) and the cosines (R, G) of its queries and keys."""

    name: str
    target: Tensor
    cosines: Tensor

    def gap(self) -> str:
        """Describe the mean cosine of pairs that should be alike, and of the others."""
        alike = self.target > 0
        return f'shared {self.cosines[alike].mean():.2f}, others {self.cosines[~alike].mean():.2f}'


def term_similarities(model: ContrastiveLearner, batch: dict, seed: int = 0) -> list[TermSimilarity]:
    """Compute what the objectives compare in one step of training, without changing weights.

    Buffers such as queues change as in the step; batch-norm statistics only in training mode.
    """
    compared: list[tuple[Tensor, Tensor, SoftTarget]] = []

    def listen(objective: nn.Module, inputs: tuple) -> None:
        queries, keys, target = inputs[:3]
        # These compare probabilities; two get log-probabilities as queries.
        if isinstance(objective, (DINODistillation, SwAV)):
            queries = queries.exp()
        elif isinstance(objective, Similarity):
            queries = objective.log_probabilities(queries).exp()
        compared.append((queries, keys, target))

    hooks = [objective.register_forward_pre_hook(listen) for objective in model.table.objectives.values()]
    seed_global_generators(seed, 'similarity')
    model.begin_step(StepKey(seed, 0, 0))
    with torch.no_grad():
        model(**model.data_preprocessor(batch, True), mode='loss')
    for hook in hooks:
        hook.remove()
    return [
        TermSimilarity(
            ' to '.join(map(str, term.rows)), target.dense(len(keys)), normalised(queries) @ normalised(keys).T
        )
        for term, (queries, keys, target) in zip(model.table.terms, compared, strict=True)
    ]


def similarity_figure(pictured: Pictured, num_images: int = 12) -> Figure:
    """Draw the target and the cosines before and after training, for every row of the table of terms.

    Both models see one batch of views and mixtures as in a step, but in evaluation mode: a few images are too few for
    batch-norm statistics.

    Raises:
        UserError: if the config is no pretraining, or cannot use a batch of so many images.
    """
    cfg = pictured.training
    if (cfg.get('model') or {}).get('type') not in ('ContrastiveLearner', 'PatchSamplingLearner'):
        raise UserError('similarities are shown of pretraining, whose model has type ContrastiveLearner')
    dataset = training_set(cfg, num_images)
    batch = default_collate([dataset[index] for index in spread(len(dataset), num_images)])
    stages = {'before training': untrained(cfg, pictured.seed)}
    if pictured.subject is not None:
        trained = untrained(cfg, pictured.seed)
        checkpoint = read_checkpoint(pictured.subject.checkpoint)
        check_fits(trained, checkpoint, pictured.subject.checkpoint)
        trained.load_state_dict(weights_of(checkpoint, pictured.subject.checkpoint))
        epochs = pictured.subject.epochs
        stages[f'after {epochs} epochs' if epochs else 'after training'] = trained
    found = {}
    for stage, model in stages.items():
        if isinstance(model.target, Teacher) and not model.target.loaded:
            raise UserError('the weights of the teacher are in no checkpoint: draw the figure by the config of the run')
        model.check_batch([crop[0] for crop in model.data_preprocessor(batch, True)['inputs']], num_images, 1)
        part = model.chunk(batch, 0) if isinstance(model, PatchSamplingLearner) else batch
        found[stage] = term_similarities(model.eval(), part, pictured.seed)
    return _draw(pictured.run, found)


def _draw(name: str, terms_by_stage: dict[str, list[TermSimilarity]]) -> Figure:
    stages: Sequence[list[TermSimilarity]] = list(terms_by_stage.values())
    rows, columns = len(stages[0]), 1 + len(stages)
    figure = Figure(figsize=(3.1 * columns + 0.8, 2.9 * rows + 0.7), layout='constrained')
    axes = figure.subplots(rows, columns, squeeze=False)
    every = torch.cat([term.cosines.flatten() for terms in stages for term in terms])
    low, high = every.min().item(), every.max().item()
    for row in range(rows):
        queries, _, keys = stages[0][row].name.partition(' to ')
        target = axes[row][0].imshow(stages[0][row].target.numpy(), cmap='cividis', vmin=0, vmax=1)
        axes[row][0].set_title(f'{queries} to {keys}: target', fontsize=9)
        for axis, (stage, terms) in zip(axes[row][1:], terms_by_stage.items(), strict=True):
            cosines = axis.imshow(terms[row].cosines.numpy(), cmap='viridis', vmin=low, vmax=high)
            axis.set_title(f'{stage}\n{terms[row].gap()}', fontsize=9)
        for axis in axes[row]:
            axis.set_xlabel(f'rows of {keys} (keys)', fontsize=7)
            axis.set_ylabel(f'rows of {queries} (queries)', fontsize=7)
            axis.tick_params(labelsize=6)
    figure.colorbar(target, ax=axes[:, 0], location='bottom', shrink=0.8, label='share of the target', aspect=30)
    figure.colorbar(cosines, ax=axes[:, 1:], location='bottom', shrink=0.8, label='cosine similarity', aspect=30)
    figure.suptitle(f'What the loss asks for, and what the encoder gives: {plain(name)}', fontsize=10)
    return finished(figure)
