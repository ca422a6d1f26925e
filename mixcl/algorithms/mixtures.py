"""Mixed streams of a config: the views that each mixes, and by which mixer."""

from collections.abc import Mapping
from typing import NamedTuple

from mixcl.errors import UserError
from mixcl.mixers import Mixer
from mixcl.mixers.pairings import same
from mixcl.mixers.trial import parts_of
from mixcl.registry import MIXERS


class Mixture(NamedTuple):
    """How a mixed stream is made.

    Attributes:
        views: the view that is mixed; or two, of the owners and of the partners.
        mixer: its mixer, which other streams may share.
        plan_key: end of the random key of its plan; streams with one mixer and one key share a plan.
    """

    views: tuple[str, ...]
    mixer: Mixer
    plan_key: tuple[str, ...]


def mixtures_of(
    streams: Mapping[str, Mapping], views: Mapping[str, int], mixer: Mixer | None, shared_plan: bool
) -> dict[str, Mixture]:
    """Return how each mixed stream is made. Streams with equal mixers of their own share one.

    Args:
        streams: settings of the mixed streams, with ``mix`` and maybe ``mixer``.
        views: number of crops by view.
        mixer: mixer of the streams that have none of their own.
        shared_plan: whether streams with one mixer share its plan.

    Raises:
        UserError: if a stream has no mixer, if ``mixer`` has no stream, or if two views cannot be mixed.
    """
    made: dict[str, Mixture] = {}
    for name, settings in streams.items():
        own = settings.get('mixer')
        if own is not None and not isinstance(own, Mapping):
            raise UserError(f"model.streams.{name}.mixer={own!r} must be a dict, such as dict(type='CutMix')")
        like = next((other for other in made if own is not None and streams[other].get('mixer') == own), name)
        chosen = mixer if own is None else made[like].mixer if like in made else MIXERS.build(own)
        if chosen is None:
            raise UserError(
                f'model.mixer is missing, but model.streams asks for mixed streams: {", ".join(streams)}; or give '
                f'{name} a mixer of its own'
            )
        shared_key = ('plan',) if own is None else (like, 'plan')
        made[name] = Mixture(views_of(settings), chosen, shared_key if shared_plan else (name, 'plan'))
        _check_views(name, made[name], views)
    if mixer is not None and all(each.mixer is not mixer for each in made.values()):
        raise UserError(
            "model.mixer has nothing to mix: add streams, such as model.streams=dict(mix1=dict(mix='view1')), and "
            'rows of model.terms that name them, or leave the mixer out'
        )
    return made


def views_of(settings: Mapping) -> tuple[str, ...]:
    """Return the view, or the two, that ``mix`` names."""
    mix = settings['mix']
    return (mix,) if isinstance(mix, str) else tuple(mix)


def _check_views(name: str, made: Mixture, views: Mapping[str, int]) -> None:
    kind = type(made.mixer).__name__
    if len(made.views) == 1 and any(getattr(part, 'pairing', None) is same for part in parts_of(made.mixer)):
        raise UserError(
            f"model.streams: {name} pairs each image with itself (pairing='same'), which needs two views of it: write "
            "mix=('view1', 'view2'), or choose another pairing"
        )
    if len(made.views) == 2 and not made.mixer.mixes_views:
        raise UserError(
            f'model.streams: {name} mixes two views, but {kind} cannot: it mixes more than an owner and a partner; use '
            'a mixer of pairs such as Mixup or CutMix, or one view'
        )
    if len({views[view] for view in made.views}) > 1:
        raise UserError(
            f'model.streams: {name} mixes {" and ".join(made.views)}, which have different numbers of crops in '
            f'model.views={dict(views)!r}; mix views with equally many'
        )
