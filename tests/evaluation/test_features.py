import pytest
import torch
from evaluation.toy_encoders import ToyModel, built, dataloader
from mmpretrain.structures import DataSample

from mixcl.errors import UserError
from mixcl.evaluation.features import class_labels, evaluating, extract, presence_labels


def test_every_image_once_in_order_under_every_encoder() -> None:
    model, loader = ToyModel(), built(dataloader(10))
    features, labels = extract(model, loader, ('online', 'target'))
    samples = [loader.dataset[index] for index in range(10)]
    images = (torch.stack([sample['inputs'] for sample in samples]) - 110.0) / 60
    model.eval()
    for name in ('online', 'target'):
        assert features[name].dtype == torch.float32 and not features[name].requires_grad
        torch.testing.assert_close(features[name], getattr(model, name)(images).detach())
    assert not torch.allclose(features['online'], features['target'])
    assert labels.tolist() == [sample['data_samples'].gt_label.item() for sample in samples]


def test_images_that_cannot_be_read_are_left_out(capsys: pytest.CaptureFixture) -> None:
    loader = built(dataloader(10))
    everything, labels = extract(ToyModel(), loader, ('online',))
    readable, give = [index not in (0, 7) for index in range(10)], type(loader.dataset).__getitem__

    class Replacing(type(loader.dataset)):
        def __getitem__(self, index: int) -> dict:
            sample = give(self, index)
            if not readable[index]:
                sample['data_samples'].set_metainfo(dict(unreadable=['a note']))
            return sample

    loader.dataset.__class__ = Replacing
    features, found = extract(ToyModel(), loader, ('online',))
    assert found.tolist() == labels[readable].tolist()
    torch.testing.assert_close(features['online'], everything['online'][readable])
    assert '2 of 10 images cannot be read and are left out' in capsys.readouterr().out


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


def test_labels_of_both_kinds() -> None:
    loader = built(dataloader(10))
    found = presence_labels([DataSample(present=torch.tensor(row)) for row in ([1, -1], [0, 1])], loader)
    assert found.dtype == torch.int8 and found.tolist() == [[1, -1], [0, 1]]
    with pytest.raises(UserError, match='Digits does not say which classes an image shows'):
        presence_labels([DataSample()], loader)
    for sample in (DataSample(), DataSample().set_gt_label([1, 2])):
        with pytest.raises(UserError, match='Digits does not give one label per image, which this evaluation needs'):
            class_labels([sample], loader)


def test_loaders_that_are_refused() -> None:
    for change, message in (
        (dict(drop_last=True), 'gave 8 of 10 images: evaluation needs all of them, set drop_last=False'),
        (dict(collate_fn=dict(type='pseudo_collate')), 'one view per image in one tensor'),
    ):
        with pytest.raises(UserError, match=message):
            extract(ToyModel(), built(dataloader(10) | change), ('online',))
