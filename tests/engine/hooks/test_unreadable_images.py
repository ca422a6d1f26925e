"""What the log says about unreadable images."""

import logging
from collections.abc import Sequence
from types import SimpleNamespace

import pytest
from mmengine.logging import MessageHub
from mmpretrain.structures import DataSample

from mixcl.datasets.unreadable import ImageNote
from mixcl.engine import UnreadableImagesHook
from mixcl.errors import UserError

FAILURE = ImageNote('a/broken.jpg', 'empty', 'the file is empty')


@pytest.fixture
def runner(request: pytest.FixtureRequest) -> SimpleNamespace:
    loader = SimpleNamespace(dataset=range(10_000))
    hub = MessageHub(request.node.name)
    return SimpleNamespace(logger=logging.getLogger('test'), message_hub=hub, train_dataloader=loader)


def batch(*failures: ImageNote, converted: Sequence[ImageNote] = ()) -> dict:
    samples = [DataSample(), DataSample()]
    if failures:
        samples[1].set_metainfo({'unreadable': list(failures)})
    if converted:
        samples[0].set_metainfo({'converted': list(converted)})
    return {'inputs': None, 'data_samples': samples}


def scalars(runner: SimpleNamespace) -> list[float]:
    buffer = runner.message_hub.log_scalars.get('train/unreadable_images')
    return [] if buffer is None else buffer.data[0].tolist()


def test_each_path_is_named_once_and_counted(runner: SimpleNamespace, caplog: pytest.LogCaptureFixture) -> None:
    hook = UnreadableImagesHook()
    hook.before_train_iter(runner, 0, batch(FAILURE))
    hook.before_train_iter(runner, 1, batch(FAILURE, ImageNote('b.png', 'no image', 'not an image')))
    hook.before_train_iter(runner, 2, batch())
    hook.after_train(runner)
    named = [message for message in caplog.messages if 'takes its place' in message]
    assert len(named) == 2
    assert 'a/broken.jpg (the file is empty)' in named[0]
    assert 'b.png (not an image)' in named[1]
    assert scalars(runner) == [1, 2, 2]
    assert 'met 2 unreadable image(s)' in caplog.messages[-1]
    assert {record.levelno for record in caplog.records} == {logging.WARNING}


def test_the_first_of_each_conversion_is_named_and_all_are_counted(
    runner: SimpleNamespace, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    hook = UnreadableImagesHook()
    grey = [ImageNote(f'{number}.png', 'grey', 'grey, converted') for number in range(3)]
    for step in range(2):
        hook.before_train_iter(runner, step, batch(converted=[*grey, ImageNote('c.jpg', 'CMYK', 'CMYK, converted')]))
    hook.after_train(runner)
    named = [message for message in caplog.messages if 'converted to 8-bit' in message]
    assert len(named) == 2 and '0.png (grey)' in named[0] and 'c.jpg (CMYK)' in named[1]
    assert caplog.messages[-1].endswith('converted images as it loaded them: 2 CMYK, 6 grey')
    assert scalars(runner) == []


@pytest.mark.parametrize(('num_images', 'limit'), [(100, 5), (10_000, 10)])
def test_a_run_with_too_many_unreadable_files_stops(runner: SimpleNamespace, num_images: int, limit: int) -> None:
    """At .1 % of the images, but never for the first five."""
    runner.train_dataloader.dataset = range(num_images)
    hook = UnreadableImagesHook()
    for number in range(limit):
        hook.before_train_iter(runner, number, batch(ImageNote(f'{number}.jpg', 'truncated', 'cut off')))
    with pytest.raises(UserError) as caught:
        hook.before_train_iter(runner, limit, batch(ImageNote('one_more.jpg', 'empty', 'the file is empty')))
    assert f'{limit + 1} of {num_images} training images cannot be read (1 empty, {limit} truncated)' in str(
        caught.value
    )
    assert '0.jpg (cut off)' in str(caught.value) and 'tools/verify_data.py' in str(caught.value)


@pytest.mark.parametrize('arguments', [dict(max_share=1.5), dict(max_share=-0.1), dict(tolerated=-1)])
def test_values_out_of_range(arguments: dict) -> None:
    with pytest.raises(UserError, match=next(iter(arguments))):
        UnreadableImagesHook(**arguments)
