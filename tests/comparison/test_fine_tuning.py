"""Fine-tuning on few labels, on images that tell their class by one half."""

import pytest
import torch
from mmengine.dataset import default_collate
from mmpretrain.structures import DataSample
from torch.utils.data import DataLoader

from mixcl.comparison import fine_tuning
from mixcl.comparison.measures import features
from mixcl.evaluation.functional.few_labels import draw_labelled
from mixcl.weights import Encoder


class Halves:
    """Noise, brighter in the left or in the right half; notes which images are read."""

    def __init__(self, count: int) -> None:
        self.labels, self.read = torch.arange(count) % 2, set()
        bright = torch.arange(16) // 8 == self.labels[:, None]
        self.images = torch.rand(count, 3, 8, 16, generator=torch.Generator().manual_seed(count))
        self.images += 0.5 * bright[:, None, None]

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, row: int) -> dict:
        self.read.add(row)
        return dict(inputs=self.images[row], data_samples=DataSample().set_gt_label(int(self.labels[row])))


def test_whole_encoders_learn_from_the_images_of_the_draws_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fine_tuning, 'STEPS', 30)
    learn = Halves(26)
    loaders = [DataLoader(images, 10, collate_fn=default_collate) for images in (learn, Halves(50))]
    encoder = Encoder(dict(type='torch.nn.Conv2d', in_channels=3, out_channels=4, kernel_size=8))
    encoder.backbone.weight.data.zero_()  # all images have the same features
    found = features(loaders, encoder)
    learn.read.clear()
    answers = fine_tuning.few_finetuned(encoder, loaders, found)
    drawn = {row for draw in range(5) for row in draw_labelled(learn.labels, 5, 0, draw).flatten().tolist()}
    assert learn.read == drawn and len(drawn) < 26
    assert [(name, rows.shape) for name, rows in answers.items()] == [
        (f'few_finetuned/{shot}', (5, 50)) for shot in (1, 2, 5)
    ]
    assert answers['few_finetuned/5'].mean() > 0.9 and not encoder.backbone.weight.any(), 'a copy has learnt'
