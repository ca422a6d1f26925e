"""The facts of a recipe, typed: what its config says, once. :mod:`.making` makes mmengine's sections of them.

A class with a field ``settings`` takes any other key, too: an argument of the class that ``type`` names.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from mixcl.errors import UserError
from mixcl.recipes.recipe_table import PROTOCOLS
from mixcl.recipes.typed import check_keys, slip_of, typed

Step = str | dict
"""A transform: its config, or its name among the fact ``steps``."""

SPLITS = ('train', 'bank', 'test')
"""Parts of a data set."""

VIEWS = ('plain', 'bilinear', 'bilinear_bicubic', 'jitter', 'randaugment', 'enlarged')
"""Names of views of evaluations that recipes of mixcl choose. A data set may have others, for recipes of one's own."""


@dataclass(frozen=True)
class Data:
    """Images, and how they are read, measured and normalised. One file per data set serves all recipes.

    Attributes:
        images: config of the data set, without split and pipeline.
        size: side of the training views, and of the images that are evaluated, in pixels.
        resize: short edge of an evaluated image before its centre is cropped; None: it is taken as it is.
        splits: settings of the parts 'train', 'test', and 'bank' if what is voted among is not all that is trained on.
            Without 'test' nothing is measured.
        read: steps that read an image.
        mean, std: of each channel, in the file's order, on the scale of 0 to 255; by default ImageNet's.
        files: whether images are files, of which some may be unreadable.
        workers: processes that load images, for each loader.
        views: views that suit the images, in place of the method's; see :class:`View`.
        share: share of each class that is trained on.
        list_file: file beside the images that lists those that are trained on.
        cache: ``dict(folder=..., gigabytes=...)`` for reduced copies of large photos.
        at_once: images of this size that a process usually takes at a time.
    """

    images: dict
    size: int
    resize: int | None = None
    splits: dict = field(default_factory=lambda: dict(train=dict(split='train'), test=dict(split='test')))
    read: list[Step] = field(default_factory=list)
    mean: Sequence[float] = (123.675, 116.28, 103.53)
    std: Sequence[float] = (58.395, 57.12, 57.375)
    files: bool = False
    workers: int = 8
    views: dict = field(default_factory=dict)
    share: float | None = None
    list_file: str | None = None
    cache: dict | None = None
    at_once: int = 128

    def __post_init__(self) -> None:
        check_keys(self.splits, SPLITS, 'data.splits')
        _check_dicts(self.splits, 'data.splits')


@dataclass(frozen=True)
class View:
    """One of the views of an image.

    Attributes:
        crop: smallest and largest share of the image that a crop shows.
        size: side in pixels; by default that of the data.
        crops: number of crops.
        steps: transforms after the crop, in order.
        interpolation: of the resized crop.
    """

    crop: Sequence[float] = (0.08, 1.0)
    size: int | None = None
    crops: int = 1
    steps: list[Step] = field(default_factory=list)
    interpolation: str = 'bicubic'


@dataclass(frozen=True)
class Evaluated:
    """What evaluations say about a data set beside :class:`Data`; ``settings`` are changes of recipes, by protocol.

    Attributes:
        classes: number of classes.
        views: how images are prepared, by the names that recipes choose; see :class:`EvaluatedView`. 'plain' is taken
            where a recipe's is missing, 'enlarged' to train ResNets with the stem for large images.
        own: ``mean`` and ``std`` of the images themselves, for recipes with ``statistics = 'own'``.
        backbone: evaluated where neither a checkpoint nor a config gives one.
        processes: number of processes that recipes' batches are meant for.
        label_lists: whether there are lists of labelled images, ``1percent.txt``; else ``semi`` draws them.
        like: another data set whose recipes are used; by default those for any data set.
        protocols: protocols that the data set is for; by default all.
        pack: arguments of the step that packs an image.
    """

    classes: int
    views: dict = field(default_factory=dict)
    own: dict = field(default_factory=dict)
    backbone: dict | None = None
    processes: int = 1
    label_lists: bool = False
    like: str | None = None
    protocols: Sequence[str] = ()
    pack: dict = field(default_factory=dict)
    settings: dict = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_keys(self.own, ('mean', 'std'), 'evaluated.own')
        check_keys(self.settings, PROTOCOLS, 'evaluated')
        _check_dicts(self.settings, 'evaluated')
        _check_dicts(self.views, 'evaluated.views')
        for name in self.views:
            if meant := slip_of(name, VIEWS):
                raise UserError(f'evaluated.views.{name} is read by no recipe; did you mean {meant!r}?')


@dataclass(frozen=True)
class EvaluatedView:
    """How evaluations prepare an image: the crop and the steps in training, a resize and a centre crop in tests.

    Attributes:
        crop: smallest and largest share of the image that a crop shows; None: no crop.
        size: side in pixels; by default that of the data.
        steps: transforms after the crop, in order.
        resize: short edge of a tested image before its centre is cropped; by default that of the data; None: it is
            taken as it is.
        interpolation: of resized images.
        tested_by: interpolation of tested images, if it is another one.
    """

    size: int
    resize: int | None
    crop: Sequence[float] | None = (0.08, 1.0)
    steps: list[Step] = field(default_factory=lambda: ['flip'])
    interpolation: str = 'bicubic'
    tested_by: str | None = None


@dataclass(frozen=True)
class Optimizer:
    """The optimiser; ``settings`` are arguments of its class, such as ``betas``.

    Attributes:
        type: class of the optimiser.
        lr: learning rate for 256 images per step.
        weight_decay: one value, or (from, to) along half a cosine.
        spare: parameters that do not decay: 'none'; 'flat', those of one dimension; 'named', also class token and
            position embedding.
        layer_decay: factor of the learning rate from each block to the one below.
        clip: largest norm of the gradient.
    """

    type: str
    lr: float
    weight_decay: float | Sequence[float] = 0.0
    spare: Literal['none', 'flat', 'named'] = 'none'
    layer_decay: float | None = None
    clip: float | None = None
    settings: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Schedule:
    """The length of the run, and the learning rate over it; ``settings`` are arguments of the schedule's class.

    Attributes:
        epochs: length of the run.
        warmup: epochs of warm-up.
        type: class of the schedule.
        per: whether the rate changes with every step, or with every epoch.
    """

    epochs: int
    warmup: int = 0
    type: str = 'WarmupCosineLR'
    per: Literal['step', 'epoch'] = 'step'
    settings: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Measure:
    """kNN accuracy in training, every so many epochs, and with other numbers of neighbours in a test."""

    every: int = 10
    neighbours: Sequence[int] = (10, 20)
    tested: Sequence[int] = (10, 20, 100, 200)
    temperature: float = 0.07


@dataclass(frozen=True)
class Recipe:
    """All facts of a pretraining, beside ``model``, whose parts are classes.

    Attributes:
        views: of each image, by name; ``all`` says what they share, ``after`` has steps that see all views, and
            ``type`` a transform that makes a pair of them.
        steps: transforms by name.
        batch: images per optimiser step, of all processes together.
        at_once: most images that a process takes at a time; by default as the data say.
        accumulate: whether processes that are too few for ``batch`` accumulate gradients. If not, the batch is smaller,
            and the learning rate with it: images of several batches are not contrasted.
        hooks: hooks of the method, by name.
    """

    data: Data
    views: dict
    optimizer: Optimizer
    schedule: Schedule
    batch: int
    at_once: int | None = None
    accumulate: bool = False
    measure: Measure = Measure()
    steps: dict = field(default_factory=dict)
    hooks: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Validation:
    """Validation of a classifier in training, every so many epochs."""

    every: int = 1


@dataclass(frozen=True)
class EvaluationRecipe:
    """All facts of an evaluation, beside ``model``.

    Attributes:
        protocol: name and version, the ``encoder`` that it takes, and what is noted beside results.
        views: name of one of the views of the data set.
        optimizer, schedule, batch: of a protocol that trains. Processes that are too few for a batch accumulate.
        at_once: most images that a process takes at a time; by default its part of the batch, on as many processes as
            the data set is meant for.
        repeats: times that an image comes in an epoch.
        statistics: what normalises the images: mean and std of the pretraining, those of the data, or the images' own.
        hooks: hooks of the recipe, by name.
        variants: changes for other backbones, data sets and shares of labels; see
            :func:`~mixcl.recipes.recipe_table.variant_of`.
    """

    data: Data
    evaluated: Evaluated
    protocol: dict
    views: str = 'plain'
    optimizer: Optimizer | None = None
    schedule: Schedule | None = None
    batch: int | None = None
    at_once: int | None = None
    repeats: int = 1
    measure: Validation = Validation()
    statistics: Literal['pretraining', 'data', 'own'] = 'pretraining'
    steps: dict = field(default_factory=dict)
    hooks: dict = field(default_factory=dict)
    variants: list[dict] = field(default_factory=list)


FACTS = frozenset(each.name for kind in (Recipe, EvaluationRecipe) for each in fields(kind)) | {'facts'}
"""Top-level names of a config that are facts, if it sets ``facts = 1``."""


def read_facts(config: Mapping[str, Any]) -> Recipe | EvaluationRecipe:
    """Read the facts of a config; raises UserError for the first that is misspelt, missing or of another type."""
    given = {name: config[name] for name in FACTS - {'facts'} if name in config}
    if 'protocol' in config:
        return typed(EvaluationRecipe, given)
    given.pop('evaluated', None)  # what data sets say for evaluations
    return typed(Recipe, given)


def _check_dicts(given: Mapping[str, Any], place: str) -> None:
    for name, value in given.items():
        if not isinstance(value, Mapping | None):
            raise UserError(f'{place}.{name}={value!r} must be a dict')
