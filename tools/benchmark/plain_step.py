"""A training step as one writes it by hand from timm and PyTorch, without mixcl: what tools/benchmark/step.py compares
with.

It is a program of its own, so that nothing of mixcl touches its process: ``plain_step.py SPECIFICATION`` with the JSON
that :func:`step.specification` makes of a config. For every line ``N`` on its standard input it takes N steps and
prints their seconds.
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
from torch.nn.utils.parametrizations import weight_norm


def backbone_of(spec: dict) -> nn.Module:
    if spec['backbone'].startswith('resnet'):
        return timm.create_model(spec['backbone'], num_classes=0)
    return VisionTransformer(**spec['vit'], num_classes=0, class_token=True, dynamic_img_size=True)


def perceptron(widths: list[int], norm: bool, last_norm: bool) -> nn.Sequential:
    layers: list[nn.Module] = []
    for i, (width, following) in enumerate(pairwise(widths)):
        last = i == len(widths) - 2
        layers.append(nn.Linear(width, following, bias=not norm))
        layers += [nn.BatchNorm1d(following, affine=not last)] if norm and (last_norm or not last) else []
        layers += [] if last else [nn.ReLU(inplace=True)]
    return nn.Sequential(*layers)


class DINOHead(nn.Sequential):
    def __init__(self, width: int, hidden: int, bottleneck: int, prototypes: int) -> None:
        first, second = nn.Linear(width, hidden), nn.Linear(hidden, hidden)
        super().__init__(first, nn.GELU(), second, nn.GELU(), nn.Linear(hidden, bottleneck))
        self.prototypes = weight_norm(nn.Linear(bottleneck, prototypes, bias=False))

    def forward(self, x: Tensor) -> Tensor:
        return self.prototypes(F.normalize(super().forward(x), dim=1))


def head_of(widths: list[int], spec: dict, last_norm: bool) -> nn.Module:
    return DINOHead(*widths) if spec['loss'] == 'dino' else perceptron(widths, spec['norm'], last_norm)


class Method(nn.Module):
    """Streams in, loss out: one pass per stream, as the papers' code has it."""

    def __init__(self, spec: dict) -> None:
        super().__init__()
        self.spec = spec
        self.encoder = nn.Sequential(backbone_of(spec), head_of(spec['head'], spec, spec['head_norm']))
        self.predictor = perceptron(spec['predictor'], True, spec['predictor_norm']) if spec['predictor'] else None
        if spec['frozen_patches']:
            self.encoder[0].patch_embed.requires_grad_(False)
        self.target = copy.deepcopy(self.encoder).requires_grad_(False) if spec['target'] == 'EMA' else None
        for part in self.target.modules() if self.target else ():
            if isinstance(part, DropPath):
                part.drop_prob = 0.0
        self.register_buffer('queue', F.normalize(torch.randn(spec['queue'], spec['head'][-1]), dim=1))
        self.register_buffer('centre', torch.zeros(spec['head'][-1]))

    def forward(self, views: dict[str, Tensor]) -> Tensor:
        spec, (queries, keys) = self.spec, zip(*[term[:2] for term in self.spec['terms']], strict=True)
        streams, targets = mixed(views, spec['num_mix'], spec['patch_size']) if spec['num_mix'] else (views, {})
        z = {name: self.encoder(streams[name]) for name in dict.fromkeys(queries)}
        with torch.no_grad():
            missing = set(keys) if self.target else set(keys) - set(z)
            k = {name: (self.target or self.encoder)(streams[name]) for name in sorted(missing)}
        k |= {name: z[name] if spec['target'] == 'Shared' else z[name].detach() for name in set(keys) - missing}
        q = z if self.predictor is None else {name: self.predictor(value) for name, value in z.items()}
        loss = sum(weight * self.pair(q[a], k[b], targets.get((a, b))) for a, b, weight in spec['terms'])
        if spec['loss'] == 'dino':
            self.centre.lerp_(torch.cat([k[name].float() for name in set(keys)]).mean(0), 0.1)
        if len(self.queue):
            self.queue = torch.cat([self.queue[len(k[keys[0]]) :], F.normalize(k[keys[0]].float(), dim=1)])
        return loss

    def pair(self, q: Tensor, k: Tensor, target: Tensor | None) -> Tensor:
        spec, q, k = self.spec, q.float(), k.float()
        if spec['loss'] == 'dino':
            k = ((k - self.centre) / 0.07).softmax(1).repeat(len(q) // len(k), 1)
            return -(k * (q / 0.1).log_softmax(1)).sum(1).mean()
        if spec['loss'] == 'cosine':
            return -F.cosine_similarity(q, k).mean()
        q, k = F.normalize(q, dim=1), F.normalize(k, dim=1)
        labels = torch.arange(len(q), device=q.device) if target is None else target
        if len(self.queue):
            logits = torch.cat([(q * k).sum(1, keepdim=True), q @ self.queue.T.clone()], dim=1)
            return F.cross_entropy(logits / spec['temperature'], torch.zeros_like(labels))
        logits = q @ k.T
        if spec['target'] == 'Shared':
            own = (q @ q.T).masked_fill(torch.eye(len(q), dtype=torch.bool, device=q.device), -torch.inf)
            logits = torch.cat([logits, own], dim=1)
        return F.cross_entropy(logits / spec['temperature'], labels)


def mixed(views: dict[str, Tensor], num_mix: int, size: int) -> tuple[dict[str, Tensor], dict]:
    """PatchMix: every patch of mixture i from image i + its group; the targets of mixtures over views and mixtures."""
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
    """A training step: forward, backward, optimiser, and the moving average of the weights."""
    model = Method(spec).to(device).train()
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = getattr(torch.optim, spec['optimizer'])(trained, lr=1e-4)
    views = {name: torch.randn(*shape, device=device) for name, shape in spec['views'].items()}

    def step() -> None:
        with torch.autocast(device.type, torch.bfloat16, enabled=spec['precision'] == 'bf16'):
            loss = model(views)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if model.target is not None:
            with torch.no_grad():
                for old, new in zip(model.target.parameters(), model.encoder.parameters(), strict=True):
                    old.mul_(0.99).add_(new, alpha=0.01)

    return step


def main() -> None:
    spec = json.loads(sys.argv[1])
    device = torch.device(spec['device'])
    step = stepper(spec, device)
    for line in sys.stdin:
        start = time.perf_counter()
        for _ in range(int(line)):
            step()
        if device.type == 'cuda':
            torch.cuda.synchronize()
        seconds = time.perf_counter() - start
        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        peak = torch.cuda.max_memory_allocated() if device.type == 'cuda' else used
        print(json.dumps(dict(seconds=seconds, peak=peak)), flush=True)


if __name__ == '__main__':
    main()
