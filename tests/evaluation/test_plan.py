"""What a call of tools/evaluate.py will do, and what it refuses before anything starts."""

from pathlib import Path

import pytest
from mmengine.config import Config

from mixcl.errors import UserError
from mixcl.evaluation.plan import Evaluation, Request, configs_by_protocol, overrides_for, planned
from mixcl.evaluation.running import classifier_for, precision_of
from mixcl.evaluation.subject import Subject, read_subject

CONFIGS = Path(__file__).parents[2] / 'configs'
PRETRAINING = str(CONFIGS / 'patchmix/vit-xs4_digits.py')
RANDOM = Subject('random', None, {}, None, None)


def plan(*protocols: str, data: str = 'digits', subject: Subject = RANDOM, **settings: object) -> list[Evaluation]:
    return planned(Request(CONFIGS, protocols, data, **settings), subject)


def with_encoders(*encoders: str) -> Subject:
    """Of a file whose weights are not looked into."""
    return Subject('epoch_1.pth', 'ab', dict.fromkeys(encoders), None, None)


@pytest.mark.parametrize(
    ('asked', 'of_protocol', 'existing', 'expected'),
    [
        (None, 'target', ('online', 'target'), ['target']),
        (None, 'target', ('online',), ['online']),
        (None, 'online', ('online', 'target'), ['online']),
        ('online', 'target', ('online', 'target'), ['online']),
        ('all', 'target', ('online', 'target'), ['online', 'target']),
        ('all', 'target', ('online',), ['online']),
        ('target', 'online', (), ['online']),
    ],
)
def test_which_encoders(asked: str | None, of_protocol: str, existing: tuple[str, ...], expected: list[str]) -> None:
    assert with_encoders(*existing).encoders_for(asked, of_protocol) == expected


def test_an_encoder_that_does_not_exist_is_refused() -> None:
    with pytest.raises(UserError, match=r'--encoder target: epoch_1\.pth has the encoder online only'):
        with_encoders('online').encoders_for('target', 'online')


def test_options_of_one_protocol_and_of_all() -> None:
    given = {'knn.test_cfg.labels': None, 'randomness.seed': 1, 'linear_fast.x': 2}
    assert overrides_for(given, 'knn') == {'randomness.seed': 1, 'test_cfg.labels': None}
    assert overrides_for(given, 'linear') == {'randomness.seed': 1}


def test_the_plan_follows_the_order_of_the_protocols_and_tells_configs_apart() -> None:
    evaluations = plan('linear', 'knn', overrides={'knn.randomness.seed': 3}, amp=True)
    linear, knn = evaluations
    assert (linear.protocol, knn.protocol) == ('linear', 'knn')
    assert linear.trains and not knn.trains
    assert (precision_of(linear), precision_of(knn)) == ('bf16', 'fp32')
    assert knn.cfg.randomness.seed == 3 != linear.cfg.randomness.seed
    (other,) = plan('knn')
    assert other.digest != knn.digest and other.name != knn.name
    assert plan('knn')[0].digest == other.digest


def test_the_backbone_of_another_config() -> None:
    subject = read_subject('random', str(CONFIGS / 'mixco/r18_tinyimagenet_mocov2.py'))
    (linear,) = plan('linear', subject=subject)
    assert linear.cfg.model.backbone.backbone.depth == 18 and linear.cfg.model.head.in_channels == 512
    with pytest.raises(UserError, match=r'has no model\.backbone'):
        read_subject('random', str(CONFIGS / '_base_/default_runtime.py'))


def test_a_config_of_ones_own_takes_the_place_of_the_chosen_one(tmp_path: Path) -> None:
    own = tmp_path / 'own.py'
    own.write_text(f"_base_ = '{CONFIGS}/evaluation/knn/any_digits.py'\nrandomness = dict(seed=11)\n")
    chosen = configs_by_protocol([str(own)])
    assert chosen == dict(knn=str(own))
    knn, linear = plan('knn', 'linear', own_configs=chosen)
    assert knn.path == own and knn.cfg.randomness.seed == 11
    assert linear.path == CONFIGS / 'evaluation/linear/any_digits.py'
    with pytest.raises(UserError, match='two configs for the protocol knn'):
        configs_by_protocol([str(own), str(own)])
    with pytest.raises(UserError, match=r'has protocol\.name=None, which is no protocol'):
        configs_by_protocol([PRETRAINING])


@pytest.mark.parametrize(
    ('protocols', 'settings', 'message'),
    [
        (('knn',), dict(data='stl10'), 'no config for the protocol knn on stl10.*any_cifar10, any_cifar100'),
        (('knn',), dict(recipe='x'), 'knn on digits with --recipe x'),
        (('robustness',), {}, '--data digits has none'),
        (('supervised',), dict(subject=with_encoders('online')), "give 'random' as the checkpoint"),
        (('knn',), dict(own_configs=dict(linear='x.py')), '--config is given for linear, but this call evaluates knn'),
        (('knn',), dict(overrides={'svm.x': 1}), '--cfg-options is given for svm'),
        (('knn',), dict(overrides={'test_cfgs.x': 1}), "the config has no 'test_cfgs'"),
        (('knn',), dict(roots=dict(voc07='x')), '--data-root is given for voc07, but this call evaluates digits'),
        (('knn',), dict(roots=dict(digits='x')), 'no data set of this config reads a folder'),
        (('svm',), dict(roots=dict(voc07='nowhere')), "data folder 'nowhere' .* does not exist"),
        (('robustness',), dict(data='imagenet-a', roots={'imagenet-a': str(CONFIGS)}), 'put finetune before robust'),
    ],
)
def test_what_cannot_work(protocols: tuple[str, ...], settings: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        plan(*protocols, **settings)


def robustness(subject: Subject, *before: str, **settings: object) -> list[Evaluation]:
    roots = dict.fromkeys(('imagenet-a', 'imagenet-r', 'imagenet-c', 'in1k'), str(CONFIGS))
    return plan(*before, 'robustness', data='in1k', subject=subject, roots=roots, **settings)


def test_robustness_tests_what_finetune_trains() -> None:
    finetune, *others = robustness(RANDOM, 'finetune')
    assert [other.data for other in others] == ['in1k', 'imagenet-a', 'imagenet-r', 'imagenet-c']
    assert all(other.cfg.model == finetune.cfg.model for other in others)
    assert {other.cfg.protocol.classifier for other in others} == {finetune.name}
    assert classifier_for(others[0], RANDOM, [('finetune', 'online', PRETRAINING)]) == PRETRAINING
    for done in ([], [('finetune', 'online', 'gone.pth')], [('finetune', 'target', PRETRAINING)]):
        with pytest.raises(UserError, match='needs the classifier that finetune trains'):
            classifier_for(others[0], RANDOM, done)


def test_another_fine_tuning_is_another_result_of_robustness() -> None:
    short = robustness(RANDOM, 'finetune', overrides={'finetune.train_cfg.max_epochs': 1})
    whole = robustness(RANDOM, 'finetune')
    assert not {evaluation.digest for evaluation in short} & {evaluation.digest for evaluation in whole}


def test_robustness_tests_the_classifier_that_is_given() -> None:
    config = Config(dict(model=dict(type='mmpretrain.ImageClassifier', backbone=dict(type='x')), config_name='a/b_c'))
    classifier = Subject('best.pth', 'ab', dict(online=None), dict(type='x'), config)
    evaluations = robustness(classifier)
    assert [evaluation.cfg.model.backbone.type for evaluation in evaluations] == ['x'] * 4
    assert classifier_for(evaluations[0], classifier, []) == 'best.pth'
