"""Faults to put into a run: losses, gradients and images that are not finite."""

import hashlib

import torch
from mmengine.dist import get_rank
from mmengine.hooks import Hook
from mmengine.model import is_model_wrapper
from mmengine.runner import Runner

from mixcl.registry import HOOKS, TRANSFORMS


@HOOKS.register_module()
class InjectFault(Hook):
    """Makes steps fail.

    Args:
        place: 'loss', 'gradient' or 'input'.
        steps: which ones.
        rank: on which process.
    """

    priority = 'HIGHEST'

    def __init__(self, place: str, steps: tuple[int, ...], rank: int = 0) -> None:
        self.place = place
        self.steps = steps
        self.rank = rank

    def before_train(self, runner: Runner) -> None:
        self.runner = runner
        model = runner.model.module if is_model_wrapper(runner.model) else runner.model
        if self.place == 'loss':
            compute = model.loss

            def failing(*arguments: object) -> dict:
                losses = compute(*arguments)
                name = next(iter(losses))
                return {**losses, name: losses[name] * (float('inf') if self._due() else 1.0)}

            model.loss = failing
        if self.place == 'gradient':
            parameter = model.predictor.fc0.weight
            parameter.register_hook(lambda grad: torch.full_like(grad, float('nan')) if self._due() else grad)

    def before_train_iter(self, runner: Runner, batch_idx: int, data_batch: dict | None = None) -> None:
        if self.place == 'input' and self._due():
            data_batch['inputs'] = [crops.float() * float('nan') for crops in data_batch['inputs']]

    def _due(self) -> bool:
        return self.runner.iter in self.steps and get_rank() == self.rank


@HOOKS.register_module()
class TellWeights(Hook):
    """Writes a digest of the weights to ``weights_<rank>.txt`` in the run's folder after every step."""

    def after_train_iter(self, runner: Runner, *_: object, **__: object) -> None:
        values = torch.cat([parameter.detach().flatten() for parameter in runner.model.parameters()])
        with open(f'{runner.work_dir}/weights_{get_rank()}.txt', 'a') as file:
            file.write(hashlib.sha256(values.numpy().tobytes()).hexdigest() + '\n')


@TRANSFORMS.register_module()
class PoisonImage:
    """Image 7 is NaN in the second epoch."""

    def __call__(self, results: dict) -> dict:
        _, epoch, index = results['sample_key']
        poison = float('nan') if (epoch, index) == (1, 7) else 0.0
        return {**results, 'img': [view.astype('float32') + poison for view in results['img']]}
