"""One run of digits_table.py: train one method with one seed, evaluate it, write a JSON file."""

import argparse
import json
import time
from pathlib import Path

from digits_configs import METHODS, digits_config

from mixcl.errors import reported_to_user


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description='Train and evaluate one row and seed of the table of the digits.')
    parser.add_argument('method', choices=METHODS)
    parser.add_argument('--out', required=True, help='JSON file to write')
    parser.add_argument('--work-dir', required=True, help='for the checkpoint and the log')
    parser.add_argument('--seed', type=int, required=True)
    parser.add_argument('--epochs', type=int, required=True, help='0: evaluate the pixels and the untrained encoder')
    parser.add_argument('--amp', action='store_true', help='train under bfloat16 autocast')
    return parser.parse_args()


if __name__ == '__main__':
    arguments = parse_arguments()  # before the imports that take seconds

import torch
from mmengine.config import Config

from mixcl.configuration import check_config
from mixcl.engine.runners.command_options import use_mixed_precision
from mixcl.engine.runners.launch import build_runner, without_training
from mixcl.evaluation.small_data import accuracies, baseline_accuracies


def results_of(cfg: Config) -> dict[str, object]:
    """What a run found and cost."""
    runner = build_runner(cfg, overwrite=True)
    started = time.perf_counter()
    runner.train()
    seconds = time.perf_counter() - started
    return dict(
        accuracies=accuracies(runner, runner.model, runner.model.encoder_names),
        passes=runner.model.passes_per_image(),
        steps=runner.max_iters,
        seconds=seconds,
    )


def main(args: argparse.Namespace) -> None:
    torch.set_num_threads(1)
    cfg = digits_config(args.method)
    check_config(cfg)
    described = cfg.to_dict()
    cfg.randomness.seed = args.seed
    cfg.work_dir = args.work_dir
    if args.epochs:
        cfg.merge_from_dict({'train_cfg.max_epochs': args.epochs, 'train_cfg.val_interval': args.epochs})
        if args.amp:
            use_mixed_precision(cfg)
        results = results_of(cfg)
    else:
        results = dict(accuracies=baseline_accuracies(build_runner(without_training(cfg))))
    # Whole or not at all: a run is done if its file exists.
    out = Path(args.out)
    part = out.with_suffix('.part')
    part.write_text(json.dumps(dict(results, config=described), indent=2) + '\n')
    part.replace(out)


if __name__ == '__main__':
    with reported_to_user():
        main(arguments)
