"""torchvision's ResNets."""

from pathlib import Path

from mixcl.weights.export.architecture import resnet_shape
from mixcl.weights.export.base import Exported, Loading, write_safetensors

LOAD = """
import torch, torchvision
from safetensors.torch import load_file
model = torchvision.models.resnet{depth}()
model.fc = torch.nn.Identity(){changes}
model.load_state_dict(load_file('PATH/model.safetensors'))
features = model.eval()(images)
"""


def write_torchvision(exported: Exported, folder: Path) -> tuple[Loading, ...]:
    """Write ``model.safetensors`` for one of torchvision's ResNets without ``fc``.

    Raises:
        UserError: if the backbone is none of them.
    """
    shape = resnet_shape(exported, 'torchvision')
    if shape is None:
        raise exported.refusal('torchvision', 'only ResNets can', 'timm or onnx')
    channels, changes = exported.preprocessing.channels, ''
    if shape.small_stem or channels != 3:
        geometry = '3, 1, 1' if shape.small_stem else '7, 2, 3'
        changes += f'\nmodel.conv1 = torch.nn.Conv2d({channels}, 64, {geometry}, bias=False)'
    if shape.small_stem:
        changes += '\nmodel.maxpool = torch.nn.Identity()'
    write_safetensors(folder, exported.backbone.state_dict())  # mmpretrain's names are torchvision's
    return (Loading(('torchvision',), LOAD.format(depth=shape.depth, changes=changes)),)
