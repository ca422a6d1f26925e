"""Starts a run from a pretrained backbone."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from mmengine.hooks import Hook
from mmengine.runner import Runner

from mixcl.distributed import unwrapped
from mixcl.encoders.targets import TargetEncoder
from mixcl.quiet_log import FOR_PEOPLE
from mixcl.registry import HOOKS
from mixcl.weights import PretrainedBackbone, load_pretrained, read_pretrained


@HOOKS.register_module()
@dataclass(eq=False)
class PretrainedBackboneHook(Hook):
    """Loads a pretrained backbone into the model before its first epoch of training, validation or test.

    It is no ``init_cfg``, because mmpretrain's backbones initialise position embeddings and residual branches after
    loading. If the run takes all its weights from a checkpoint (``--resume``, ``load_from``), nothing is loaded and the
    file is not needed.

    Args:
        checkpoint: the file, see :func:`~mixcl.weights.read_pretrained`.
        encoder: 'online' or 'target'; if several are given, the first that the file has.
        module: name of the backbone in the model.
        new: patterns of names that the file need not have, see :func:`~mixcl.weights.load_pretrained`, in addition to
            the ``new_parameters`` of the backbone.
    """

    checkpoint: str
    encoder: str | Sequence[str] = 'online'
    module: str = 'backbone'
    new: Sequence[str] = ()

    priority = 'VERY_HIGH'
    _read: PretrainedBackbone | None = field(init=False, default=None, repr=False)
    _done = False

    def __post_init__(self) -> None:
        self.new = tuple(self.new)

    def check(self, runner: Runner) -> None:
        """Raise :class:`~mixcl.errors.UserError` unless the file fits the model, before the model is initialised."""
        if runner._load_from is None:
            self._load(runner)

    def before_train(self, runner: Runner) -> None:
        if self._done or runner._has_loaded:
            return
        report = self._load(runner)
        runner.logger.info(
            f'backbone from the {self._read.encoder} encoder in {self.checkpoint}: {report}', extra=FOR_PEOPLE
        )
        self._read, self._done = None, True

    before_val = before_test = before_train

    def _load(self, runner: Runner) -> str:
        if self._read is None:
            self._read = read_pretrained(self.checkpoint, self.encoder)
        model = unwrapped(runner.model)
        backbone = model.get_submodule(self.module)
        new = (*self.new, *getattr(backbone, 'new_parameters', ()))
        report = load_pretrained(backbone, self._read, new)
        if isinstance(getattr(model, 'target', None), TargetEncoder):
            model.target.copy_weights(model.backbone, model.neck)
        return report
