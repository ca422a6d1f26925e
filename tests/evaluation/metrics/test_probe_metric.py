import pytest
import torch
from mmengine.evaluator import Evaluator
from torch import Tensor

from mixcl.errors import UserError
from mixcl.evaluation.functional.probe_sweep import probe_sweep
from mixcl.evaluation.functional.probes import ProbeSettings
from mixcl.evaluation.metrics.probe_metric import LinearProbeSweep

SETTINGS = dict(rates=(0.03, 0.3), weight_decays=(0.0, 1e-3), epochs=3, batch_size=16, held_out=0.2, seed=4)


def data(rows: int, seed: int) -> tuple[Tensor, Tensor]:
    random = torch.Generator().manual_seed(seed)
    labels = torch.randint(3, (rows,), generator=random)
    return torch.randn(rows, 5, generator=random) + labels[:, None], labels


def test_reports_every_probe_and_the_one_that_the_held_out_part_chose() -> None:
    bank, (queries, labels) = data(80, 0), data(31, 1)
    metric = LinearProbeSweep(**SETTINGS)
    metric.fit(*bank)
    evaluator = Evaluator(metric)
    for start in range(0, 31, 12):
        batch = slice(start, start + 12)
        evaluator.process([dict(features=queries[batch], labels=labels[batch])])
    values = evaluator.evaluate(31)
    result = probe_sweep(*bank, queries, labels, ProbeSettings(**SETTINGS))
    assert [values[f'probe_lr{rate:g}_wd{decay:g}_top1'] for rate, decay in result.grid] == result.test
    assert (values['probe_rate'], values['probe_weight_decay']) == result.grid[result.chosen]
    assert values['probe_top1'] == result.test[result.chosen]
    assert values['probe_held_out'] == result.held_out[result.chosen] == max(result.held_out)
    assert len(values) == 4 + 4


def test_settings_are_checked_when_it_is_built() -> None:
    with pytest.raises(UserError, match='linear probe: epochs=0'):
        LinearProbeSweep(epochs=0)
