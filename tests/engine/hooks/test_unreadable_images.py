"""Log messages about unreadable images."""

import logging
from types import SimpleNamespace

import pytest
from mmengine.logging import MessageHub
from mmpretrain.structures import DataSample

from mixcl.datasets.unreadable import ImageNote
from mixcl.engine import UnreadableImagesHook
from mixcl.errors import UserError

EMPTY = ImageNote('a/broken.jpg', 'empty', 'the file is empty')


@pytest.fixture
def runner(request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture) -> SimpleNamespace:
    caplog.set_level(logging.INFO)
    loader = SimpleNamespace(dataset=range(10_000))
    hub = MessageHub(request.node.name)
    return SimpleNamespace(logger=logging.getLogger('test'), message_hub=hub, train_dataloader=loader)


def batch(*notes: ImageNote, name: str = 'unreadable') -> dict:
    samples = [DataSample(), DataSample()]
    if notes:
        samples[1].set_metainfo({name: list(notes)})
    return {'inputs': None, 'data_samples': samples}


def test_each_path_is_named_once_and_counted(runner: SimpleNamespace, caplog: pytest.LogCaptureFixture) -> None:
    hook = UnreadableImagesHook()
    for step, notes in enumerate(([EMPTY], [EMPTY, ImageNote('b.png', 'no image', 'not an image')], [])):
        hook.before_train_iter(runner, step, batch(*notes))
    hook.after_train(runner)
    named = [message for message in caplog.messages if 'replaced by another' in message]
    assert len(named) == 2 and 'a/broken.jpg (the file is empty)' in named[0] and 'b.png (not an image)' in named[1]
    assert runner.message_hub.get_scalar('train/unreadable_images').data[0].tolist() == [1, 2, 2]
    assert 'met 2 unreadable training image(s)' in caplog.messages[-1]
    assert {record.levelno for record in caplog.records} == {logging.WARNING}


def test_the_first_of_each_conversion_is_named_all_counted(
    runner: SimpleNamespace, caplog: pytest.LogCaptureFixture
) -> None:
    hook = UnreadableImagesHook()
    notes = [ImageNote(f'{number}.png', 'grey', '') for number in range(3)] + [ImageNote('c.jpg', 'CMYK', '')]
    for step in range(2):
        hook.before_train_iter(runner, step, batch(*notes, name='converted'))
    hook.after_train(runner)
    named = [message for message in caplog.messages if 'converted to 8-bit' in message]
    assert len(named) == 2 and '0.png (grey)' in named[0] and 'c.jpg (CMYK)' in named[1]
    assert caplog.messages[-1].endswith('converted images as it loaded them: 2 CMYK, 6 grey')
    assert 'train/unreadable_images' not in runner.message_hub.log_scalars


@pytest.mark.parametrize(('num_images', 'limit'), [(100, 5), (10_000, 10)])
def test_a_run_with_too_many_unreadable_files_stops(runner: SimpleNamespace, num_images: int, limit: int) -> None:
    """The limit is .1 % of the images, but at least five."""
    runner.train_dataloader.dataset = range(num_images)
    hook = UnreadableImagesHook()
    hook.before_val_iter(runner, 0, batch(*(ImageNote(f'{n}.png', 'truncated', '') for n in range(20))))  # not counted
    hook.before_train_iter(runner, 0, batch(*(ImageNote(f'{n}.jpg', 'truncated', 'cut off') for n in range(limit))))
    message = rf'{limit + 1} of {num_images} training images cannot be read \(1 empty, {limit} truncated\).*'
    with pytest.raises(UserError, match=message + r'0\.jpg \(cut off\).*mixcl verify-data'):
        hook.before_train_iter(runner, 1, batch(EMPTY))
