"""Train a model: ``python tools/train.py configs/patchmix/vit-s16_in1k.py``.

With ``--pretrained CHECKPOINT`` its backbone starts from another run's, for linear probes, fine-tuning and the like.
"""

import argparse
import os
from pathlib import Path

from mixcl.command_line import OverrideAction
from mixcl.errors import UserError, reported_to_user


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description='Train a model.')
    parser.add_argument('config', help='config file')
    parser.add_argument('--work-dir', help='where logs and checkpoints go; default work_dirs/<method>/<config name>')
    parser.add_argument(
        '--resume',
        nargs='?',
        const='auto',
        metavar='CHECKPOINT',
        help='continue a run: from the newest checkpoint of the work dir, or from the one given',
    )
    parser.add_argument(
        '--allow-changes', action='store_true', help='with --resume: go on with settings that change what is computed'
    )
    parser.add_argument(
        '--overwrite', action='store_true', help='remove the checkpoints that another run has left in the work dir'
    )
    parser.add_argument(
        '--pretrained',
        metavar='CHECKPOINT',
        help="start the backbone from this checkpoint; 'random' for none, where the config names one",
    )
    parser.add_argument(
        '--encoder', choices=['online', 'target'], help='which encoder of it; by default as the config says'
    )
    parser.add_argument(
        '--max-time',
        metavar='DURATION',
        help='save and exit with status 85 after so long, for example 23h30m; as on SIGTERM, SIGINT and SIGUSR1',
    )
    parser.add_argument(
        '--allow-pickle', action='store_true', help='read checkpoints that may run code: only from those you trust'
    )
    parser.add_argument('--amp', action='store_true', help='mixed precision: bfloat16 autocast, on CPU and GPU')
    parser.add_argument(
        '--compile', action='store_true', help='compile the blocks of the backbone: for long runs on GPUs'
    )
    parser.add_argument(
        '--auto-scale-lr', action='store_true', help='scale the learning rate linearly with the global batch'
    )
    parser.add_argument('--no-validate', action='store_true', help='no kNN evaluation during the run')
    parser.add_argument(
        '--views',
        choices=('device', 'pillow'),
        help="who makes the views' colours and blurs: the device, for a batch at once, or Pillow on the CPU, as the "
        'papers did; by default as the config says (device)',
    )
    parser.add_argument(
        '--data',
        metavar='KIND:PATH',
        help='your own images in the place of those of the config: folder:PATH, list:PATH.csv, hf:PATH or tar:PATTERN '
        '(docs/your_images.md)',
    )
    parser.add_argument(
        '--data-root', metavar='DIR', help='root folder of every data set of the config; with --data that of a list'
    )
    parser.add_argument(
        '--backbone',
        metavar='NAME',
        help='another backbone, with random weights: timm:vit_small_patch16_224, torchvision:resnet50, or your own '
        'module, package.module:Class; what depends on it follows',
    )
    parser.add_argument(
        '--image-size', type=int, metavar='PIXELS', help='of the model and of all views, evaluations included'
    )
    parser.add_argument(
        '--smoke', action='store_true', help='20 steps on synthetic images at reduced size, to see that it runs'
    )
    parser.add_argument(
        '--cfg-options',
        nargs='+',
        action=OverrideAction,
        metavar='NAME=VALUE',
        help='override values of the config, for example model.mixer.num_mix=2 train_cfg.max_epochs=100',
    )
    parser.add_argument('--launcher', choices=['none', 'pytorch', 'slurm', 'mpi'], default='none')
    parser.add_argument('--local-rank', '--local_rank', type=int, default=0, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == '__main__':
    arguments = parse_arguments()  # before the imports that take seconds


from mmengine.runner import Runner

from mixcl.algorithms import ContrastiveLearner
from mixcl.configuration import check_metric_files
from mixcl.distributed import unwrapped
from mixcl.engine.hooks import CheckpointHook
from mixcl.engine.runners.backbone_option import use_backbone
from mixcl.engine.runners.command_options import limit_time, use_mixed_precision, use_pretrained, use_views
from mixcl.engine.runners.data_option import use_data
from mixcl.engine.runners.image_size import set_image_size
from mixcl.engine.runners.launch import build_runner, read_config
from mixcl.engine.runners.processes import use_launcher
from mixcl.engine.runners.smoke import shrink_to_smoke
from mixcl.engine.runners.stop_signals import stop_outside_of_training
from mixcl.engine.runners.work_dir import default_work_dir
from mixcl.evaluation.recipes import data_of_name
from mixcl.quiet_log import FOR_PEOPLE
from mixcl.visualization import mix_preview, mixed_streams
from mixcl.weights import allow_pickle

CONFIGS = Path(__file__).resolve().parents[1] / 'configs'


def main(args: argparse.Namespace) -> None:
    stop_outside_of_training()
    os.environ.setdefault('LOCAL_RANK', str(args.local_rank))
    cfg = read_config(args.config, args.cfg_options, None if args.data else args.data_root)
    if cfg.get('train_cfg') is None:
        raise UserError(
            f'{args.config} trains nothing (it has no train_cfg): use tools/test.py {args.config} --pretrained '
            'CHECKPOINT'
        )
    found = use_data(cfg, args.data, args.data_root) if args.data else None
    chosen = args.work_dir or cfg.get('work_dir')
    cfg.work_dir = chosen or default_work_dir(args.config, '_smoke' if args.smoke else '')
    if args.image_size is not None and args.smoke:
        raise UserError(f'--smoke has an image size of its own; leave out --image-size {args.image_size}')
    if args.backbone:
        use_backbone(cfg, args.backbone, args.image_size)
    elif args.image_size is not None:
        set_image_size(cfg, args.image_size)
    if args.smoke:
        shrink_to_smoke(cfg)
    if args.amp:
        use_mixed_precision(cfg)
    if args.compile:
        cfg.compile = cfg.get('compile') or True
    if args.views:
        use_views(cfg, args.views)
    if args.auto_scale_lr:
        if not cfg.get('auto_scale_lr'):
            raise UserError('--auto-scale-lr needs auto_scale_lr=dict(base_batch_size=...) in the config')
        cfg.auto_scale_lr.enable = True
    if args.no_validate:
        cfg.val_cfg = cfg.val_dataloader = cfg.val_evaluator = None
    if args.max_time:
        limit_time(cfg, args.max_time)
    if args.allow_pickle:
        allow_pickle()
    if args.allow_changes and not args.resume:
        raise UserError('--allow-changes is for a run that goes on: give --resume, too')
    if args.overwrite and args.resume:
        raise UserError('--overwrite removes the checkpoints that --resume continues from: give one of them')
    if args.resume:
        cfg.resume = True
        cfg.load_from = None if args.resume == 'auto' else args.resume
    if args.pretrained:
        use_pretrained(cfg, args.pretrained, args.encoder)
    elif args.encoder:
        raise UserError(
            f'--encoder {args.encoder} chooses an encoder of the checkpoint that --pretrained names; give it'
        )
    check_metric_files(cfg, 'val_evaluator')
    use_launcher(cfg, args.launcher)
    overwrite = args.overwrite or (args.smoke and not chosen and not args.resume)
    runner = build_runner(cfg, overwrite, args.allow_changes)
    if found and runner.rank == 0:
        runner.logger.info(f'images: {found}', extra=FOR_PEOPLE)
    if args.smoke and runner.rank == 0 and mixed_streams(cfg):
        preview = mix_preview(cfg, Path(cfg.work_dir) / 'mix_preview.png', cfg.train_dataloader.batch_size)
        runner.logger.info(f'mix preview: {preview}', extra=FOR_PEOPLE)
    runner.train()
    if runner.rank == 0:
        print(what_is_next(args, runner))


def what_is_next(args: argparse.Namespace, runner: Runner) -> str:
    """Where everything is, and the command that most people want now."""
    written = [hook.last_ckpt for hook in runner.hooks if isinstance(hook, CheckpointHook) and hook.last_ckpt]
    lines = [f'everything is in {runner.work_dir}']
    if args.smoke:
        lines.append(f'next, the run itself: python tools/train.py {args.config}')
    elif written and isinstance(unwrapped(runner.model), ContrastiveLearner):
        data = args.data or data_of_name(runner.cfg.config_name)
        known = args.data or (CONFIGS / f'evaluation/datasets/{data}.py').is_file()
        lines.append(
            f'next: python tools/evaluate.py {written[-1]} --data {data if known else "NAME"} --protocols knn linear'
        )
    elif written:
        lines.append(f'next: python tools/test.py {args.config} {written[-1]}')
    return '\n'.join(lines)


if __name__ == '__main__':
    with reported_to_user():
        main(arguments)
