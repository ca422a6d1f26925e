"""Questions that all processes must answer alike."""

import torch
from mmengine.dist import get_world_size
from torch import distributed


class AnyProcess:
    """Whether any process says yes, asked once per step, without making a GPU or another process wait.

    The answers travel between the hosts, beside the training, while the next step runs. So every process learns the
    same answer after the same step, which is one step after the question; a single process at once.

    All processes must build it, and ask, at the same points of the program.
    """

    def __init__(self) -> None:
        # On the hosts also where the gradients travel between GPUs: reading a value from a GPU waits for its queue.
        self._group = distributed.new_group(backend='gloo') if get_world_size() > 1 else None
        self._pending: tuple[distributed.Work, torch.Tensor] | None = None

    def __call__(self, yes: bool) -> bool:
        if self._group is None:
            return yes
        answer = self._answer()
        votes = torch.tensor([int(yes)])
        self._pending = distributed.all_reduce(votes, distributed.ReduceOp.MAX, self._group, async_op=True), votes
        return answer

    def finish(self) -> None:
        """Wait for the last answer: a process that ends with one under way aborts."""
        self._answer()

    def _answer(self) -> bool:
        if self._pending is None:
            return False
        work, votes = self._pending
        work.wait()
        return bool(votes)
