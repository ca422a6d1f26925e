"""Checks of a config that came with a file: it may only give plain values to classes that open no file or address."""

import copy
import re
from collections.abc import Mapping
from contextlib import suppress
from reprlib import repr as shortened
from typing import Any

import mmpretrain.registry  # noqa: F401  (adds its registries to mmengine's)
import torch
from mmengine.config import Config
from mmengine.registry import Registry
from torch import Tensor, nn
from torch.nn.modules.module import register_module_parameter_registration_hook

from mixcl.errors import UserError
from mixcl.randomness import undisturbed_generators
from mixcl.registry import DATASETS, LOSSES, MIXERS, MODELS, NEGATIVES, SHARES, TARGET_ENCODERS, TRANSFORMS, build
from mixcl.setting_ranges import wrong_values
from mixcl.weights.checkpoint import is_trusted

BUILDABLE = {library: frozenset(names.split()) for library, names in dict(
    mmpretrain="""
        AlexNet BEiTViT CSPDarkNet CSPResNeXt CSPResNet Conformer ConvMixer ConvNeXt DaViT DeiT3 DenseNet
        DistilledVisionTransformer EdgeNeXt EfficientFormer EfficientNet EfficientNetV2 HRNet HiViT HorNet InceptionV3
        LeNet5 LeViT MAEHiViT MAEViT MViT MixMIMTransformer MlpMixer MoCoV3ViT MobileNetV2 MobileNetV3 MobileOne
        MobileViT PCPVT PoolFormer PyramidVig RIFormer RegNet RepLKNet RepMLPNet RepVGG Res2Net ResNeSt ResNeXt ResNet
        ResNetV1c ResNetV1d ResNet_CIFAR RevVisionTransformer SEResNeXt SEResNet SVT ShuffleNetV1 ShuffleNetV2
        SimMIMSwinTransformer SwinTransformer SwinTransformerV2 T2T_ViT TIMMBackbone TNT TinyViT VAN VGG ViTEVA02 ViTSAM
        Vig VisionTransformer XCiT
        ImageClassifier MAE MoCoV3 SimMIM
        ClsBatchNormNeck DenseCLNeck GeneralizedMeanPooling GlobalAveragePooling HRFuseScales LinearNeck
        MAEPretrainDecoder MoCoV2Neck NonLinearNeck SimMIMLinearDecoder SwAVNeck
        ArcFaceClsHead CSRAClsHead ClsHead ConformerHead DeiTClsHead EfficientFormerClsHead LeViTClsHead LinearClsHead
        MAEPretrainHead MultiLabelClsHead MultiLabelLinearClsHead MultiTaskHead SimMIMHead StackedLinearClsHead
        VisionTransformerClsHead
        AsymmetricLoss CosineSimilarityLoss CrossCorrelationLoss CrossEntropyLoss FocalLoss LabelSmoothLoss
        PixelReconstructionLoss RegressionLoss SeesawLoss SwAVLoss
        ClsDataPreprocessor SelfSupDataPreprocessor TwoNormDataPreprocessor GRN LN2d ShiftWindowMSA
        AutoAugment AutoContrast BEiTMaskGenerator Brightness ColorJitter ColorTransform Contrast Cutout
        EfficientNetCenterCrop EfficientNetRandomCrop Equalize GaussianBlur Invert Lighting MAERandomResizedCrop
        MultiView NumpyToPIL PILToNumpy PackInputs Posterize RandAugment RandomCrop RandomErasing RandomResizedCrop
        RandomResizedCropAndInterpolationWithTwoPic RandomTranslatePad ResizeEdge Rotate Sharpness Shear
        SimMIMMaskGenerator Solarize SolarizeAdd ToNumpy ToPIL Translate Transpose""",
    mmcv="""
        Clamp Clip ContextBlock Conv Conv2dAdaptivePadding ConvAWS ConvModule ConvTranspose2d ConvWS DropPath Dropout
        FFN GeneralizedAttention HSigmoid MultiheadAttention NonLocal2d Swish deconv pixel_shuffle
        CenterCrop Compose ImageToTensor LoadImageFromFile Normalize Pad RandomApply RandomChoice RandomChoiceResize
        RandomFlip RandomGrayscale RandomResize Resize ToTensor""",
    mmengine='BaseDataPreprocessor ImgDataPreprocessor',
    torch="""
        BN BN1d BN2d Conv1d Conv2d ELU GELU GN HSwish IN IN1d IN2d LN LeakyReLU PReLU RReLU ReLU ReLU6 SiLU Sigmoid Tanh
        bilinear nearest reflect replicate zero""",
).items()}  # fmt: skip
"""Registered names of other libraries' classes that any file may build, by the library of the class: backbones,
algorithms, necks, heads, losses, preprocessors and layers, transforms. They open no file or address that a word names.
Others do: ``VQAGenerationHead`` unpickles its ``answer_list_path``, ``LAD`` runs its ``teacher_config``, Hugging Face's
take ``trust_remote_code``."""

LIBRARIES = {*BUILDABLE, 'functools', 'mmdet', 'timm', 'torchvision', 'transformers'}
"""Libraries that register more than anyone asked for. Other classes are mixcl's, or imported by the user's config."""

NAMING = frozenset({'type', 'resize_type', 'conv_type', 'norm_layer'})
"""Keys whose values are looked up in a registry, and imported if the registry does not have them."""

LEFT_OUT = frozenset({'init_cfg', 'pretrained', 'checkpoint_path', 'train_cfg', 'batch_augments', 'cache'})
"""Arguments for initial weights, for training and for its speed, which are not needed where weights are evaluated."""

REACHING = frozenset({'backend_args', 'file_client_args'})
"""Arguments that choose how files are opened; one of mmengine's backends imports a module from any given folder."""

BUILDERS: dict[Any, Registry] = dict(
    mixer=MIXERS, share=SHARES, objective=LOSSES, target=TARGET_ENCODERS, terms=NEGATIVES, negatives=NEGATIVES,
    dataset=DATASETS, pipeline=TRANSFORMS, backbone=MODELS,
)  # fmt: skip
"""Registries by the keys whose values they build, if not the registry of the part around them."""

PLACES = ('data_root', 'source')
"""Keys of the place of a data set's images, which are only read; Hugging Face's data sets may have code."""

LARGEST = 100_000
"""Bound of numbers, which count layers, channels, pixels or classes."""

WORD = re.compile(r'[\w+-]*')
"""Pattern of a string that is no address, file or dotted name, and nothing that a config file fills in or runs."""


def checked_part(part: Any, registry: Registry, source: str, place: str) -> Any:
    """Check a part of a config that is not the user's own, before anything in it is looked up, imported or built.

    The part may hold numbers up to :data:`LARGEST`, words, lists and dicts. A ``type`` must be in the registry that
    will build the part, and safe to build from any file. Once pickle is allowed, the part is returned as it is.

    Returns:
        A copy without :data:`LEFT_OUT`.

    Raises:
        UserError: if the part has anything else; the message names the file (``source``) and the ``place`` in its
            config.
    """
    if is_trusted():
        return part
    match part:
        case Mapping():
            kept = {key: value for key, value in part.items() if key not in LEFT_OUT}
            for key, expected in wrong_values(kept):
                raise _refusal(source, f'{place}.{key}', kept[key], f'which must be {expected}')
            opened = registry is DATASETS and 'HuggingFace' not in str(part.get('type'))
            read = {key: kept.pop(key) for key in PLACES if opened and isinstance(kept.get(key), str)}
            checked = {key: _checked_value(key, value, registry, source, place) for key, value in kept.items()}
            return checked | read
        case list() | tuple():
            return type(part)(checked_part(one, registry, source, f'{place}[{i}]') for i, one in enumerate(part))
        case int() | float() if not abs(part) <= LARGEST:
            raise _refusal(source, place, part, f'which is above {LARGEST:,}')
        case int() | float() | None:
            return part
        case str() if WORD.fullmatch(part):
            return part
    raise _refusal(source, place, part, 'which is no plain value')


def checked_run(config: Mapping[str, Any], source: str) -> Config:
    """Return the model and the data sets of a config that came with a file, checked by :func:`checked_part`.

    Raises:
        UserError: if they have anything that :func:`checked_part` refuses.
    """
    parts = {name: config[name] for name in ('model', 'data_preprocessor') if config.get(name)}
    for name in ('train_dataloader', 'val_dataloader', 'test_dataloader'):
        if dataset := (config.get(name) or {}).get('dataset'):
            parts[name] = dict(dataset=dataset)
    checked = {name: checked_part(part, MODELS, source, name) for name, part in parts.items()}
    names = {name: config.get(name) for name in ('config_name', 'run_name')}
    return Config(dict(checked, default_scope='mixcl', **names))


def check_size(model: Mapping[str, Any], weights: Mapping[str, Tensor], source: str) -> None:
    """Refuse the config of a model that is much larger than the weights it came with, before it takes memory.

    Raises:
        UserError: if it has over twice as many tensors plus 1,000, or over twice as many numbers plus 100 million.
    """
    if is_trusted():
        return
    most, numbers = 2 * len(weights) + 1000, 2 * sum(value.numel() for value in weights.values()) + 10**8
    built: list[int] = []

    def count(module: nn.Module, name: str, parameter: Tensor | None) -> None:
        built.append(0 if parameter is None else parameter.numel())
        if len(built) > most or sum(built) > numbers:
            raise MemoryError

    hook = register_module_parameter_registration_hook(count)
    try:
        for device in ('meta', 'cpu'):  # some models cannot be built without memory
            with suppress(Exception), undisturbed_generators(), torch.device(device):
                built.clear()
                build(MODELS, copy.deepcopy(model))
                return
            if len(built) > most or sum(built) > numbers:
                raise UserError(
                    f'the config in {source} asks for a model of at least {len(built):,} tensors and {sum(built):,} '
                    f'numbers, far more than the file holds; name the config that it was trained with (config)'
                )
    finally:
        hook.remove()


def _checked_value(key: Any, value: Any, registry: Registry, source: str, place: str) -> Any:
    # Python normalises letters that look like these, so that one name would become another.
    if not isinstance(key, int) and not (isinstance(key, str) and key.isidentifier() and key.isascii()):
        raise _refusal(source, f'{place}.keys', key, 'which is no name')
    place = f'{place}.{key}'
    if key in NAMING:
        if not _is_harmless(value, registry, place):
            raise _refusal(source, place, value, 'which is no class that any file may name')
        return value
    if (key in REACHING and value) or (key == '_scope_' and value not in ('mixcl', 'mmengine', 'mmpretrain')):
        raise _refusal(source, place, value, 'which may open or import anything')
    if key in ('model_name', 'name') and isinstance(value, str) and WORD.fullmatch(value.replace('.', '')):
        return value  # timm's names have dots
    return checked_part(value, BUILDERS.get(key, registry), source, place)


def _is_harmless(name: Any, registry: Registry, place: str) -> bool:
    """Whether a name is registered for a safe class; the look-up is mmengine's, but without its imports."""
    if not isinstance(name, str):
        return False
    scope, _, rest = name.rpartition('.')
    # mmpretrain looks up normalisation layers in its own registry.
    scope = scope or ('mmpretrain' if place.endswith('norm_cfg.type') else registry.scope)
    searched = registry.root._search_child(scope)
    while searched is not None:
        searched.import_from_location()
        if rest in searched.module_dict:
            library = str(getattr(searched.module_dict[rest], '__module__', 'functools')).partition('.')[0]
            return library not in LIBRARIES or rest in BUILDABLE.get(library, ())
        searched = searched.parent
    return False


def _refusal(source: str, place: str, value: Any, reason: str) -> UserError:
    return UserError(
        f'the config in {source} has {place}={shortened(value)}, {reason}; if you trust that config, save it '
        'to a file, where such values are allowed, and give this by `config=FILE`'
    )
