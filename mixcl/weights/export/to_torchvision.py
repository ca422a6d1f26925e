"""torchvision's ResNets, and backbones that are torchvision's."""

from collections.abc import Iterator
from pathlib import Path

from torch import Tensor, nn

from mixcl.backbones import TorchvisionBackbone
from mixcl.backbones.torchvision_backbone import CLASSIFIERS
from mixcl.weights.export.architecture import resnet_shape
from mixcl.weights.export.base import Exported, Loading, write_safetensors

LOAD = """
import torch, torchvision
from safetensors.torch import load_file
model = torchvision.models.get_model({arguments})
{changes}
model.load_state_dict(load_file('PATH/model.safetensors'))
features = model.eval()(images)
"""


def write_torchvision(exported: Exported, folder: Path) -> tuple[Loading, ...]:
    """Write ``model.safetensors`` for one of torchvision's models without its classifier.

    Raises:
        UserError: if the backbone is neither a ResNet nor one of torchvision's.
    """
    arguments, changes, state = _model(exported)
    write_safetensors(folder, state)
    return (Loading(('torchvision',), LOAD.format(arguments=arguments, changes='\n'.join(changes))),)


def _model(exported: Exported) -> tuple[str, list[str], dict[str, Tensor]]:
    """Arguments of ``get_model``, the lines that change the model to ours, and its weights."""
    if isinstance(exported.backbone, TorchvisionBackbone):
        model = exported.backbone.plain_model()
        name, given = exported.config['name'], exported.config.get('arguments') or {}
        arguments = ', '.join([repr(name), *(f'{key}={value!r}' for key, value in given.items())])
        changes = [*_without_classifier(model), *_first_convolution(exported, model)]
        return arguments, changes, model.state_dict()
    shape = resnet_shape(exported, 'torchvision')
    if shape is None:
        raise exported.refusal('torchvision', 'it is no ResNet or model of torchvision')
    changes = ['model.fc = torch.nn.Identity()', *_first_convolution(exported, exported.backbone, shape.small_stem)]
    if shape.small_stem:
        changes.append('model.maxpool = torch.nn.Identity()')
    # mmpretrain's names are torchvision's.
    return repr(f'resnet{shape.depth}'), changes, exported.backbone.state_dict()


def _without_classifier(model: nn.Module) -> Iterator[str]:
    for name in CLASSIFIERS:
        match getattr(model, name, None):
            case nn.Identity():
                yield f'model.{name} = torch.nn.Identity()'
            case nn.Sequential() as part:
                yield f'model.{name} = model.{name}[:{len(part)}]'


def _first_convolution(exported: Exported, model: nn.Module, changed: bool = False) -> Iterator[str]:
    """The line that puts the backbone's first convolution into the place of torchvision's, where they differ."""
    if changed or exported.preprocessing.channels != 3:
        name, convolution = next(pair for pair in model.named_modules() if isinstance(pair[1], nn.Conv2d))
        parent, _, last = name.rpartition('.')
        yield f'setattr(model.get_submodule({parent!r}), {last!r}, torch.nn.{convolution!r})'
