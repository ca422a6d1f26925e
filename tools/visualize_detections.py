"""Draw what a detector finds in test images, beside their annotations.

``python tools/visualize_detections.py CONFIG CHECKPOINT --out-dir detections``
"""

from mixcl.starting import begin

begin(__name__)

import argparse

from mixcl.command_line import OverrideAction
from mixcl.errors import UserError, reported_to_user


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description='Draw the detections of a trained detector.')
    parser.add_argument('config', help='config file')
    parser.add_argument('checkpoint', help='checkpoint file')
    parser.add_argument('--out-dir', default='detections', help='folder for the pictures')
    parser.add_argument('--num-images', type=int, default=8, help='how many test images to draw')
    parser.add_argument('--score-threshold', type=float, default=0.3, help='leave out detections below this score')
    parser.add_argument('--data-root', metavar='DIR', help='root folder of every data set of the config')
    parser.add_argument('--cfg-options', nargs='+', action=OverrideAction, metavar='NAME=VALUE', help='override values')
    return parser.parse_args()


if __name__ == '__main__':
    arguments = parse_arguments()  # before the imports that take seconds


from mixcl.engine.runners.launch import read_config


def main(args: argparse.Namespace) -> None:
    if not 0 <= args.score_threshold <= 1:
        raise UserError(f'--score-threshold is a share between 0 and 1, not {args.score_threshold}')
    from mixcl.detection.figures import draw_detections  # says which command installs what detection needs

    cfg = read_config(args.config, args.cfg_options, args.data_root)
    cfg.work_dir = f'{args.out_dir}/log'
    cfg.load_from = args.checkpoint
    pictures = draw_detections(cfg, args.out_dir, args.num_images, args.score_threshold)
    print(f'written: {len(pictures)} pictures in {args.out_dir}')


if __name__ == '__main__':
    with reported_to_user():
        main(arguments)
