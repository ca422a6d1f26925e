import pytest
import torch
from evaluation.toy_encoders import ToyImages, ToyModel, built, dataloader

from mixcl.errors import UserError
from mixcl.evaluation.features import evaluating, extract
from mixcl.evaluation.small_data import RawPixels


def images_of(size: int) -> torch.Tensor:
    return torch.stack([torch.tensor(sample['img']).permute(2, 0, 1) for sample in ToyImages(size).load_data_list()])


def test_every_image_once_in_order_under_every_encoder() -> None:
    model = ToyModel()
    features, labels = extract(model, built(dataloader(10)), ('online', 'target'))
    images = (images_of(10).float() - 110) / 60
    model.eval()
    for name in ('online', 'target'):
        assert features[name].dtype == torch.float32 and not features[name].requires_grad
        torch.testing.assert_close(features[name], getattr(model, name)(images).detach())
    assert not torch.allclose(features['online'], features['target'])
    assert labels.tolist() == [0, 1, 2, 0, 1, 2, 0, 1, 2, 0]


def test_modes_and_statistics_of_the_model_are_as_before() -> None:
    model = ToyModel()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    extract(model, built(dataloader(10)), ('online',))
    assert model.modes_seen == {False}
    assert model.online.training and not model.target.training
    torch.testing.assert_close(dict(model.state_dict()), before, rtol=0, atol=0)
    with pytest.raises(RuntimeError), evaluating(model):
        assert not model.online.training and not torch.is_grad_enabled()
        raise RuntimeError
    assert model.online.training and not model.target.training and torch.is_grad_enabled()


def test_raw_pixels_are_the_loaded_values() -> None:
    features, labels = extract(RawPixels(), built(dataloader(5)), RawPixels.encoder_names)
    assert torch.equal(features['pixels'], images_of(5).flatten(1).float())
    assert len(labels) == 5


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        (dict(drop_last=True), 'gave 8 of 10 images: evaluation needs all of them, set drop_last=False'),
        (dict(collate_fn=dict(type='pseudo_collate')), 'one view per image in one tensor'),
    ],
)
def test_loaders_that_are_refused(change: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        extract(ToyModel(), built(dataloader(10) | change), ('online',))
