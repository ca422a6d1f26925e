"""The objective of DINO."""

from collections.abc import Sequence

import torch
from mmengine.dist import all_reduce
from torch import Tensor

from mixcl.composition import SoftTarget
from mixcl.errors import UserError
from mixcl.losses.base import Negatives, Objective
from mixcl.ranges import NOT_NEGATIVE, SEVERAL, SHARE, TEMPERATURE, check_range
from mixcl.registry import LOSSES


@LOSSES.register_module()
class DINODistillation(Objective):
    """Cross-entropy between a centred, sharpened teacher and a student ("Emerging Properties in Self-Supervised
    Vision Transformers", 2021, Eq. 1 to 4).

    ``loss_i = H(sum_t Y[i, t] P_t, P_i)`` with ``P_t = softmax((teacher_t - centre) / teacher temperature)`` and
    ``P_i = softmax(student_i / student temperature)``. The centre is a moving average of the teacher outputs of all
    processes, updated after each step.

    Args:
        num_prototypes: K, width of the head's output.
        centred_by: key streams whose mean moves the centre; SDMP leaves the mixed ones out.
        student_temperature: above 0.
        teacher_temperature: final value, after the warm-up; above 0.
        warmup_temperature: value in the first epoch; above 0.
        warmup_epochs: W, 0 or more. In epoch t < W a share t / (W - 1) of the rise is done, as in the authors' code.
        centre_momentum: share of the centre that each step keeps, in [0, 1].
    """

    centre: Tensor

    def __init__(
        self,
        num_prototypes: int,
        centred_by: Sequence[str] = ('view1', 'view2'),
        student_temperature: float = 0.1,
        teacher_temperature: float = 0.07,
        warmup_temperature: float = 0.04,
        warmup_epochs: int = 30,
        centre_momentum: float = 0.9,
    ) -> None:
        super().__init__()
        temperatures = dict(student_temperature=student_temperature, teacher_temperature=teacher_temperature)
        name = type(self).__name__
        check_range(name, SEVERAL, num_prototypes=num_prototypes)
        check_range(name, TEMPERATURE, **temperatures, warmup_temperature=warmup_temperature)
        check_range(name, NOT_NEGATIVE, warmup_epochs=warmup_epochs)
        check_range(name, SHARE, centre_momentum=centre_momentum)
        if not centred_by:
            raise UserError("DINODistillation: centred_by must name key streams, such as ('view1', 'view2')")
        self.widths = dict(num_prototypes=num_prototypes)
        self.centred_by = tuple(centred_by)
        self.student_temperature = student_temperature
        self.final_temperature = teacher_temperature
        self.warmup_temperature = warmup_temperature
        self.warmup_epochs = warmup_epochs
        self.centre_momentum = centre_momentum
        self.register_buffer('centre', torch.zeros(1, num_prototypes))
        self.begin_step(warmup_epochs)

    def begin_step(self, epoch: int) -> None:
        share = epoch / max(self.warmup_epochs - 1, 1) if epoch < self.warmup_epochs else 1.0
        self.teacher_temperature = self.warmup_temperature + share * (self.final_temperature - self.warmup_temperature)

    def prepare_query(self, raw: Tensor) -> Tensor:
        """Compute (R, K) log-probabilities of the student (DINO Eq. 1)."""
        with torch.autocast(raw.device.type, enabled=False):
            return (_full(raw) / self.student_temperature).log_softmax(dim=1)

    def prepare_key(self, raw: Tensor) -> Tensor:
        """Compute (n, K) probabilities of the teacher, centred and sharpened (DINO Eq. 1 and Sec. 3.1)."""
        with torch.autocast(raw.device.type, enabled=False):
            return ((_full(raw) - self.centre) / self.teacher_temperature).softmax(dim=1)

    def forward(self, queries: Tensor, keys: Tensor, target: SoftTarget, negatives: Sequence[Negatives] = ()) -> Tensor:
        """Compute (R,) cross-entropies (DINO Eq. 2 and 3)."""
        with torch.autocast(queries.device.type, enabled=False):
            return -(target.expect(keys) * queries).sum(dim=1)

    @torch.no_grad()
    def observe(self, raw_keys: dict[str, Tensor]) -> None:
        """Move the centre towards the mean of the raw keys of all processes (DINO Eq. 4), if there are any."""
        keys = torch.cat([_full(raw_keys[name]) for name in self.centred_by])
        total, count = keys.sum(dim=0, keepdim=True), keys.new_full((1, 1), len(keys))
        all_reduce(total)
        all_reduce(count)
        share = (1 - self.centre_momentum) * count.clamp_max(1)
        mean = (total / count.clamp_min(1)).to(self.centre.dtype)
        self.centre.lerp_(mean, share.to(self.centre.dtype))


def _full(values: Tensor) -> Tensor:
    return values if values.dtype == torch.float64 else values.float()
