"""A training step of MoCo v3, PatchMix on it, SimCLR, or of a taught network, by hand from timm and PyTorch.

It is a program of its own, so that nothing of mixcl touches its process: ``plain_step.py SPECIFICATION`` with the JSON
that ``specification`` of tools/benchmark/step.py makes of a config. For every line ``N`` on its standard input it takes
N steps and prints their seconds and the peak of the memory.
"""

import copy
import json
import resource
import sys
import time
from collections.abc import Callable
from itertools import pairwise

import timm
import torch
import torch.nn.functional as F
from timm.layers import DropPath
from timm.models.vision_transformer import VisionTransformer
from torch import Tensor, nn


def perceptron(widths: list[int], last_norm: bool) -> nn.Sequential:
    layers: list[nn.Module] = []
    for width, following in pairwise(widths[:-1]):
        layers += [nn.Linear(width, following, bias=False), nn.BatchNorm1d(following), nn.ReLU(inplace=True)]
    layers.append(nn.Linear(*widths[-2:], bias=False))
    return nn.Sequential(*layers, *[nn.BatchNorm1d(widths[-1], affine=False)] * last_norm)


class Method(nn.Module):
    """Loss of views: one pass per stream, as in the papers' code."""

    def __init__(self, spec: dict) -> None:
        super().__init__()
        self.spec = spec
        if spec['vit']:
            backbone = VisionTransformer(**spec['vit'], num_classes=0, class_token=True)
            backbone.patch_embed.requires_grad_(not spec['frozen_patches'])
        else:
            backbone = timm.create_model(spec['resnet'], num_classes=0)
        self.encoder = nn.Sequential(backbone, perceptron(*spec['neck']))
        if not spec['predictor']:
            return
        self.predictor = perceptron(*spec['predictor'])
        self.target = copy.deepcopy(self.encoder).requires_grad_(False)
        for part in self.target.modules():
            if isinstance(part, DropPath):
                part.drop_prob = 0.0

    def forward(self, views: dict[str, Tensor]) -> Tensor:
        if not self.spec['predictor']:
            return self.between(*(self.encoder(view) for view in views.values()))
        spec, (queries, keys, _) = self.spec, zip(*self.spec['terms'], strict=True)
        streams, targets = mixed(views, spec['num_mix'], spec['patch_size']) if spec['num_mix'] else (views, {})
        q = {name: self.predictor(self.encoder(streams[name])) for name in dict.fromkeys(queries)}
        with torch.no_grad():
            k = {name: self.target(streams[name]) for name in dict.fromkeys(keys)}
        return sum(weight * self.pair(q[a], k[b], targets.get((a, b))) for a, b, weight in spec['terms'])

    def pair(self, q: Tensor, k: Tensor, target: Tensor | None) -> Tensor:
        q, k = F.normalize(q.float(), dim=1), F.normalize(k.float(), dim=1)
        labels = torch.arange(len(q), device=q.device) if target is None else target
        return F.cross_entropy(q @ k.T / self.spec['temperature'], labels)

    def between(self, first: Tensor, second: Tensor) -> Tensor:
        """SimCLR's NT-Xent."""
        z = F.normalize(torch.cat([first, second]).float(), dim=1)
        logits = (z @ z.T / self.spec['temperature']).fill_diagonal_(-torch.inf)
        return F.cross_entropy(logits, torch.arange(len(z), device=z.device).roll(len(first)))


class Taught(nn.Module):
    """A student that learns from a frozen teacher how similar an image is to earlier ones (SEED, 2021)."""

    def __init__(self, spec: dict) -> None:
        super().__init__()
        self.encoder = nn.Sequential(timm.create_model(spec['student'], num_classes=0), perceptron(*spec['neck']))
        self.size = spec['resized'] or spec['shape'][-1]
        size = dict(img_size=self.size) if spec['teacher'].startswith('vit') else {}
        teacher = timm.create_model(spec['teacher'], num_classes=0, **size).requires_grad_(False).eval()
        self.teacher = [teacher]  # not a part, since train() would wake it
        self.temperature = spec['temperature']
        self.register_buffer('queue', F.normalize(torch.randn(spec['queue'], spec['neck'][0][-1]), dim=1))

    def forward(self, views: dict[str, Tensor]) -> Tensor:
        view = views['view1']
        q = F.normalize(self.encoder(view).float(), dim=1)
        with torch.no_grad():
            if view.shape[-1] != self.size:
                view = F.interpolate(view, self.size, mode='bilinear', antialias=True)
            k = F.normalize(self.teacher[0](view).float(), dim=1)
        target, logits = (z @ self.queue.clone().T / self.temperature for z in (k, q))
        self.queue = torch.cat([k, self.queue[: -len(k)]])
        return F.cross_entropy(logits, target.softmax(dim=1))


def mixed(views: dict[str, Tensor], num_mix: int, size: int) -> tuple[dict[str, Tensor], dict]:
    """Mix as PatchMix: every patch of mixture i is from image i + its group. Also return the mixtures' targets."""
    streams, some = dict(views), views['view1']
    batch, _, height, width = some.shape
    for name, view in (('mix1', 'view1'), ('mix2', 'view2')):
        groups = torch.randperm(height * width // size**2, device=some.device) % num_mix
        masks = groups.view(height // size, width // size).repeat_interleave(size, 0).repeat_interleave(size, 1)
        streams[name] = sum(views[view].roll(-g, 0) * (masks == g) for g in range(num_mix))
    eye = torch.eye(batch, device=some.device)
    share = sum(eye.roll(g, 1) for g in range(num_mix)) / num_mix
    return streams, {('mix2', 'view1'): share, ('mix2', 'mix1'): share @ share.T}


def stepper(spec: dict, device: torch.device) -> Callable[[], None]:
    """Return a training step: forward, backward, optimiser, and the moving average of the weights."""
    layout = torch.contiguous_format if spec['vit'] else torch.channels_last
    model = (Taught if spec['teacher'] else Method)(spec).to(device, memory_format=layout).train()
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = (torch.optim.AdamW if spec['vit'] or spec['teacher'] else torch.optim.SGD)(trained, lr=1e-4)
    views = {name: torch.randn(*spec['shape'], device=device).to(memory_format=layout) for name in ('view1', 'view2')}

    def step() -> None:
        with torch.autocast(device.type, torch.bfloat16, enabled=spec['precision'] == 'bf16'):
            loss = model(views)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if spec.get('predictor'):
            with torch.no_grad():
                for old, new in zip(model.target.parameters(), model.encoder.parameters(), strict=True):
                    old.mul_(0.99).add_(new, alpha=0.01)

    return step


def main() -> None:
    spec = json.loads(sys.argv[1])
    step = stepper(spec, torch.device('cpu'))
    for line in sys.stdin:
        start = time.perf_counter()
        for _ in range(int(line)):
            step()
        seconds = time.perf_counter() - start
        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        print(json.dumps(dict(seconds=seconds, peak=used)), flush=True)


if __name__ == '__main__':
    main()
