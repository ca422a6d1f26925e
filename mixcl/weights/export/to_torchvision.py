"""Export to torchvision: ResNets, and backbones that are torchvision's."""

from collections.abc import Iterator
from pathlib import Path

from torch import nn

from mixcl.backbones import TorchvisionBackbone
from mixcl.backbones.torchvision_backbone import BRANCHES, CLASSIFIERS
from mixcl.weights.export.base import Exported, Loading, plain_resnet, write_safetensors

LOAD = """
import torch, torchvision
from safetensors.torch import load_file
model = torchvision.models.get_model({arguments})
{changes}
model.load_state_dict(load_file('PATH/model.safetensors'))
features = model.eval()(images)
"""


def write_torchvision(exported: Exported, folder: Path) -> tuple[Loading, ...]:
    """Write ``model.safetensors`` for one of torchvision's models without its classifier."""
    channels, config = exported.preprocessing.channels, exported.config
    if isinstance(exported.backbone, TorchvisionBackbone):
        model, given = exported.backbone.plain_model(), exported.backbone.arguments
        arguments = ', '.join([repr(config['name']), *(f'{key}={value!r}' for key, value in given.items())])
        changes, other_stem = [*_without_classifier(model)], channels != 3
    elif resnet := plain_resnet(exported, 'torchvision', small_stem=True):
        model, arguments, changes = resnet, repr(f'resnet{resnet.depth}'), ['model.fc = torch.nn.Identity()']
        other_stem = channels != 3 or not hasattr(resnet, 'maxpool')
        if not hasattr(resnet, 'maxpool'):
            changes.append('model.maxpool = torch.nn.Identity()')
    else:
        raise exported.refusal('torchvision', 'it is no ResNet or model of torchvision')
    if other_stem:
        name, convolution = next(pair for pair in model.named_modules() if isinstance(pair[1], nn.Conv2d))
        parent, _, last = name.rpartition('.')
        changes.append(f'setattr(model.get_submodule({parent!r}), {last!r}, torch.nn.{convolution!r})')
    write_safetensors(folder, model.state_dict())  # mmpretrain's names are torchvision's
    return (Loading(('torchvision',), LOAD.format(arguments=arguments, changes='\n'.join(changes))),)


def _without_classifier(model: nn.Module) -> Iterator[str]:
    for name in CLASSIFIERS:
        match getattr(model, name, None):
            case nn.Identity():
                yield f'model.{name} = torch.nn.Identity()'
            case nn.Sequential() as part:
                yield f'model.{name} = model.{name}[:{len(part)}]'
                empty = (number for number, layer in enumerate(part) if isinstance(layer, nn.Identity))
                yield from (f'model.{name}[{number}] = torch.nn.Identity()' for number in empty)
    yield from (f'model.{name} = None' for name in BRANCHES if getattr(model, name, model) is None)
