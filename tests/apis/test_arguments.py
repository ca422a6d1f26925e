"""Misspelt arguments of the calls in Python."""

import pytest

import mixcl
from mixcl.errors import UserError


@pytest.mark.parametrize(
    ('call', 'wrong', 'said'),
    [
        ('pretrain', 'epoch', "no argument 'epoch'; did you mean 'epochs'"),
        ('pretrain', 'max_tim', "did you mean 'max_time'"),  # a field of Options
        ('pretrain', 'backbone', 'it has .*, model, '),  # pretrain calls it model
        ('train', 'imagesize', "did you mean 'image_size'"),
        ('evaluate', 'protocol', "did you mean 'protocols'"),
        ('embed', 'imagesize', "did you mean 'image_size'"),
        ('load_backbone', 'encoders', "did you mean 'encoder'"),
        ('export', 'encodr', "did you mean 'encoder'"),
    ],
)
def test_a_misspelt_argument_is_named(call: str, wrong: str, said: str) -> None:
    with pytest.raises(UserError, match=f'^mixcl.{call} has .*{said}'):
        getattr(mixcl, call)(**{wrong: 3})
