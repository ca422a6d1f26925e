"""What the log says about unreadable images."""

import logging
from types import SimpleNamespace

import pytest
from mmengine.logging import MessageHub
from mmpretrain.structures import DataSample

from mixcl.engine import UnreadableImagesHook

FAILURE = ('a/broken.jpg', 'the file is empty')


@pytest.fixture
def runner(request: pytest.FixtureRequest) -> SimpleNamespace:
    return SimpleNamespace(logger=logging.getLogger('test'), message_hub=MessageHub(request.node.name))


def batch(*failures: tuple[str, str]) -> dict:
    samples = [DataSample(), DataSample()]
    if failures:
        samples[1].set_metainfo({'unreadable': list(failures)})
    return {'inputs': None, 'data_samples': samples}


def scalars(runner: SimpleNamespace) -> list[float]:
    buffer = runner.message_hub.log_scalars.get('train/unreadable_images')
    return [] if buffer is None else buffer.data[0].tolist()


def test_nothing_is_said_while_all_images_are_readable(
    runner: SimpleNamespace, caplog: pytest.LogCaptureFixture
) -> None:
    hook = UnreadableImagesHook()
    hook.before_train_iter(runner, 0, batch())
    hook.after_train(runner)
    assert caplog.messages == []
    assert scalars(runner) == []


def test_each_path_is_named_once_and_counted(runner: SimpleNamespace, caplog: pytest.LogCaptureFixture) -> None:
    hook = UnreadableImagesHook()
    hook.before_train_iter(runner, 0, batch(FAILURE))
    hook.before_train_iter(runner, 1, batch(FAILURE, ('b.png', 'not an image')))
    hook.before_train_iter(runner, 2, batch())
    hook.after_train(runner)
    named = [message for message in caplog.messages if 'takes its place' in message]
    assert len(named) == 2
    assert 'a/broken.jpg (the file is empty)' in named[0]
    assert 'b.png (not an image)' in named[1]
    assert scalars(runner) == [1, 2, 2]
    assert 'met 2 unreadable image(s)' in caplog.messages[-1]
    assert {record.levelno for record in caplog.records} == {logging.WARNING}


def test_images_of_the_evaluation_are_named_too(runner: SimpleNamespace, caplog: pytest.LogCaptureFixture) -> None:
    hook = UnreadableImagesHook()
    hook.before_val_iter(runner, 0, batch(FAILURE))
    assert len(caplog.messages) == 1
    assert scalars(runner) == []


@pytest.mark.parametrize('data_batch', [None, {}, {'inputs': 1}, [1, 2]])
def test_batches_of_other_kinds_are_left_alone(runner: SimpleNamespace, data_batch: object) -> None:
    hook = UnreadableImagesHook()
    hook.before_train_iter(runner, 0, data_batch)
    assert not hook.paths
