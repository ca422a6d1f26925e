"""Features and kNN accuracy of digits in any number of processes and batches.

In a module of its own because spawned processes cannot import test modules.
"""

import os
import uuid

import torch
from evaluation.composed import composed
from mmengine.config import Config
from mmengine.model import is_model_wrapper

from mixcl.engine.runners.launch import build_runner, use_launcher
from mixcl.evaluation.features import extract

BACKBONE = dict(type='mmpretrain.ResNet_CIFAR', depth=18, base_channels=16, stem_channels=16)


def config(folder: str, batch_size: int, workers: int) -> Config:
    # Batches of 7 leave a last batch of one image, which ResNets round differently where batches pass as they come.
    cfg = composed('knn', backbone=BACKBONE, overrides={
        'test_dataloader.batch_size': batch_size,
        'test_dataloader.num_workers': workers,
        'test_dataloader.dataset.indices': 99,
        'test_cfg.bank_dataloader.batch_size': batch_size,
        'test_cfg.bank_dataloader.num_workers': workers,
        'test_cfg.bank_dataloader.dataset.indices': 232,
    })  # fmt: skip
    cfg.work_dir, cfg.experiment_name = folder, uuid.uuid4().hex
    cfg.visualizer.vis_backends = []
    return cfg


def evaluate(cfg: Config) -> tuple[dict[str, float], torch.Tensor]:
    """Metrics, and the features of the queries."""
    runner = build_runner(cfg)
    metrics = runner.test()
    model = runner.model.module if is_model_wrapper(runner.model) else runner.model
    features, _ = extract(model, runner.test_dataloader, ('online',))
    return metrics, features['online']


def one_of_two(rank: int, folder: str, batch_size: int) -> None:
    """What one of two processes finds, into a file."""
    torch.set_num_threads(1)
    torch.distributed.init_process_group('gloo', f'file://{folder}/group', rank=rank, world_size=2)
    os.environ.update(RANK=str(rank), LOCAL_RANK='0')
    cfg = config(folder, batch_size, 0)
    use_launcher(cfg, 'pytorch')
    torch.save(evaluate(cfg), f'{folder}/rank{rank}.pth')
    torch.distributed.barrier()
    os._exit(0)  # threads of gloo may abort an interpreter that ends by itself
