"""--image-size changes model and views together."""

import pytest
from configuration.all_configs import CONFIGS, read
from mmengine.config import Config
from mmengine.dataset import default_collate
from mmengine.registry import DefaultScope

from mixcl.errors import UserError
from mixcl.recipes.building import build_model
from mixcl.recipes.images import crop_sizes
from mixcl.recipes.prepared import Options, prepared_to_train
from mixcl.registry import DATASETS


def resized(name: str, size: int) -> Config:
    return prepared_to_train(CONFIGS[name], Options(image_size=size))


def test_views_local_crops_and_evaluations_follow() -> None:
    cfg = resized('dino/vit-s16_in1k', 128)
    assert cfg.model.backbone.img_size == 128
    # 96 * 128 / 224 is 54.9; the patches have 16 pixels
    assert crop_sizes(cfg.train_dataloader) == [128, 128, 48]
    for loader in (cfg.val_dataloader, cfg.val_cfg.bank_dataloader, cfg.test_dataloader, cfg.test_cfg.bank_dataloader):
        pipeline = loader.dataset.get('dataset', loader.dataset).pipeline
        assert [step.get('scale', step.get('crop_size')) for step in pipeline] == [None, 146, 128, None]


def test_nothing_changes_at_the_size_that_it_has() -> None:
    for name in CONFIGS:
        size = max(crop_sizes(read(name).train_dataloader))
        assert resized(name, size).to_dict() == prepared_to_train(CONFIGS[name], Options()).to_dict(), name


def test_the_model_takes_the_views() -> None:
    cfg = resized('patchmix/vit-xs4_digits', 32)
    with DefaultScope.overwrite_default_scope('mixcl'):
        dataset = DATASETS.build(cfg.train_dataloader.dataset)
        model = build_model(cfg)
        queries = DATASETS.build(cfg.val_dataloader.dataset)
    batch = default_collate([dataset[index] for index in range(8)])
    assert (
        {tuple(view.shape[-2:]) for view in batch['inputs']} == {(32, 32)} == {tuple(queries[0]['inputs'].shape[-2:])}
    )
    data = model.data_preprocessor(batch, True)
    assert model(**data, mode='loss') and model.backbone.pos_embed.shape[1] == 1 + 64


@pytest.mark.parametrize('size', [0, 100, -16])
def test_patches_must_divide_the_size(size: int) -> None:
    with pytest.raises(UserError, match=f'`image_size={size}` is no multiple of the patches of 16 pixels'):
        resized('patchmix/vit-s16_in1k', size)


def test_a_config_without_facts() -> None:
    with pytest.raises(UserError, match='`image_size` changes the facts of a recipe'):
        prepared_to_train('configs/transfer/shapes/mask-rcnn_vit-xs16.py', Options(image_size=224))
