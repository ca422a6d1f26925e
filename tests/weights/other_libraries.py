"""Models of other libraries with random weights, and their features; files as authors release them."""

from argparse import Namespace
from pathlib import Path

import timm
import torch
import torchvision
import transformers
from torch import Tensor, nn

from mixcl.registry import MODELS
from mixcl.weights.layouts import translated

HEADS = {32: 2, 192: 3, 384: 6, 768: 12}


def randomised(model: nn.Module) -> nn.Module:
    """Draw weights of a size that lets every tensor affect the features."""
    generator = torch.Generator().manual_seed(1)
    for name, tensor in model.state_dict().items():
        if tensor.is_floating_point():
            noise = torch.randn(tensor.shape, generator=generator)
            fan_in = max(1, tensor[0].numel()) if tensor.dim() > 1 else 1
            is_scale = 'norm' in name or 'bn' in name or 'ln' in name or 'running' in name
            tensor.copy_(1 + 0.1 * noise.abs() if is_scale and tensor.dim() == 1 else noise / fan_in**0.5)
    model.eval()  # mmpretrain's does not return the model
    return model


def contrastive_vit(width: int, patch: int = 16, size: int = 32, num_heads: int | None = None, **changes) -> nn.Module:
    arch = dict(embed_dims=width, num_layers=2, num_heads=num_heads or HEADS[width], feedforward_channels=4 * width)
    settings = dict(type='ContrastiveViT', arch=arch, img_size=size, patch_size=patch)
    model = MODELS.build(settings | changes)
    return model if changes.get('fixed_position') else randomised(model)


def timm_vit(width: int, patch: int = 16, size: int = 32, **changes) -> nn.Module:
    settings = dict(patch_size=patch, img_size=size, embed_dim=width, depth=2, num_heads=HEADS[width], num_classes=5)
    return randomised(timm.create_model('vit_base_patch16_224', **(settings | changes)))


def hugging_face_vit(width: int, patch: int = 16, size: int = 32, head: bool = False) -> nn.Module:
    config = transformers.ViTConfig(
        hidden_size=width, num_hidden_layers=2, num_attention_heads=HEADS[width], intermediate_size=4 * width,
        image_size=size, patch_size=patch, layer_norm_eps=1e-6,
    )  # fmt: skip
    kind = transformers.ViTForImageClassification if head else transformers.ViTModel
    return randomised(kind(config))


def torchvision_vit(width: int, patch: int = 16, size: int = 32) -> nn.Module:
    model = torchvision.models.VisionTransformer(size, patch, 2, HEADS[width], width, 4 * width, num_classes=5)
    return randomised(model)


def hugging_face_resnet(depth: int, head: bool = False) -> nn.Module:
    config = transformers.ResNetConfig(
        depths=[2, 2, 2, 2] if depth == 18 else [3, 4, 6, 3],
        hidden_sizes=[64, 128, 256, 512] if depth == 18 else [256, 512, 1024, 2048],
        layer_type='basic' if depth == 18 else 'bottleneck',
    )
    return randomised((transformers.ResNetForImageClassification if head else transformers.ResNetModel)(config))


@torch.no_grad()
def features(model: nn.Module, images: Tensor) -> Tensor:
    """Return (B, C): a vision transformer's class token after the final norm, or the mean of a ResNet's map."""
    match model:
        case timm.models.VisionTransformer():
            found = model.forward_features(images)[:, 0]
        case transformers.ViTForImageClassification():
            found = model.vit(images).last_hidden_state[:, 0]
        case transformers.ViTModel():
            found = model(images).last_hidden_state[:, 0]
        case transformers.ResNetForImageClassification():
            found = model.resnet(images).pooler_output
        case transformers.ResNetModel():
            found = model(images).pooler_output
        case torchvision.models.VisionTransformer():
            model.heads = nn.Identity()
            found = model(images)
        case torchvision.models.ResNet():
            model.fc = nn.Identity()
            found = model(images)
        case timm.models.ResNet():
            found = model.forward_features(images)
        case _:
            found = model(images)[-1]
    return found.mean((2, 3)) if found.dim() == 4 and found.shape[2] > 1 else found.flatten(1)


def resnet(depth: int) -> nn.Module:
    return randomised(MODELS.build(dict(type='mmpretrain.ResNet', depth=depth)))


def small_resnet() -> nn.Module:
    return randomised(MODELS.build(dict(type='mmpretrain.ResNet', depth=18, base_channels=4, stem_channels=4)))


def prefixed(state: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {prefix + name: tensor for name, tensor in state.items()}


def saved(folder: Path, content: object, **options: object) -> Path:
    torch.save(content, folder / 'some.pth', **options)
    return folder / 'some.pth'


def heads(prefix: str, layers: tuple[int | str, ...]) -> dict[str, Tensor]:
    return {f'{prefix}.{layer}.weight': torch.ones(2) for layer in layers}


def released(kind: str, online: nn.Module, target: nn.Module | None) -> dict:
    """Return a checkpoint as authors save it, of networks that have mmpretrain's names."""
    layout = dict(aps='aps', mixco_simclr='sequential').get(kind, 'timm')
    first, _ = translated(online.state_dict(), 'mmpretrain', layout)
    second = translated(target.state_dict(), 'mmpretrain', layout)[0] if target is not None else {}
    if kind == 'aps':
        first['pos_embedding'] = first['pos_embedding'][:, 1:].transpose(0, 1)  # (T, 1, C)
        first = {name: tensor for name, tensor in first.items() if not name.endswith('qkv.bias')}
        six = heads('base_encoder.fc', (0, 1, 3, 4, 6, 7)) | heads('predictor', (0, 1, 3, 4, 6, 7))
        return prefixed(first, 'base_encoder.') | six
    around = dict(epoch=300, arch='some', optimizer=dict(state={}, param_groups=[]), scaler=dict(scale=1.0))
    queue = {'queue': torch.ones(2, 8), 'queue_ptr': torch.zeros(1, dtype=torch.long)}
    if kind == 'dino':
        arguments = Namespace(arch='vit_small', patch_size=16)
        head = {'head.mlp.0.weight': torch.ones(2), 'head.last_layer.weight_g': torch.ones(2)}
        student = prefixed(prefixed(first, 'backbone.') | head, 'module.')
        teacher = prefixed(second, 'backbone.') | head
        return dict(student=student, teacher=teacher, epoch=300, args=arguments, dino_loss={'center': torch.ones(1, 2)})
    (of_online, of_target), rest = dict(
        patchmix=(('base_encoder.', 'momentum_encoder.'), heads('base_encoder.head', (0, 1, 3, 4, 6, 7))),
        mocov3=(
            ('module.base_encoder.', 'module.momentum_encoder.'),
            heads('module.base_encoder.head', (0, 1, 3, 4, 6, 7)) | heads('module.predictor', (0, 1, 3, 4)),
        ),
        moco=(('module.encoder_q.', 'module.encoder_k.'), prefixed(queue | heads('encoder_q.fc', (0, 2)), 'module.')),
        mixco=(('encoder_q.', 'encoder_k.'), queue | heads('encoder_q.fc', (0, 2))),
        sololearn=(
            ('backbone.', 'momentum_backbone.'),
            heads('momentum_projector', (0, 3)) | heads('classifier', ('x',)),
        ),
        lightly=(('backbone.', 'backbone_momentum.'), heads('projection_head_momentum.layers', (0, 3))),
        lightly_dino=(('student_backbone.', 'teacher_backbone.'), heads('teacher_head.layers', (0, 3))),
        openselfsup=(('encoder_q.0.', 'encoder_k.0.'), queue | heads('encoder_q.1.mlp', (0, 2))),
        openselfsup_byol=(('online_net.0.', 'target_net.0.'), heads('online_net.1.mlp', (0, 3))),
        simsiam=(('module.encoder.', None), heads('module.encoder.fc', (0, 3)) | heads('module.predictor', (0, 1))),
        mixco_simclr=(('module.features.', None), heads('module', ('l1', 'l2'))),
        mmpretrain=(('backbone.', 'momentum_encoder.module.0.'), heads('neck', ('fc0', 'fc1'))),
    )[kind]
    state = prefixed(first, of_online) | rest | (prefixed(second, of_target) if of_target else {})
    return dict(around, state_dict=state)
