"""``mixcl visualize-detections CONFIG CHECKPOINT``: draw what a detector finds, beside the annotations."""

from argparse import ArgumentParser, Namespace

from mixcl.command_line import add_data_root, add_overrides
from mixcl.errors import UserError


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument('config', help='config file')
    parser.add_argument('checkpoint', help='checkpoint file')
    parser.add_argument('--out-dir', default='detections', help='folder for the pictures')
    parser.add_argument('--num-images', type=int, default=8, help='how many test images to draw')
    parser.add_argument('--score-threshold', type=float, default=0.3, help='leave out detections below this score')
    add_data_root(parser)
    add_overrides(parser)


def run(args: Namespace) -> None:
    if not 0 <= args.score_threshold <= 1:
        raise UserError(f'--score-threshold is a share between 0 and 1, not {args.score_threshold}')
    from mixcl.detection.figures import draw_detections  # its error says how to install detection
    from mixcl.recipes.prepared import Options, prepared_to_test

    options = dict(cfg_options=args.cfg_options, data_root=args.data_root)
    cfg = prepared_to_test(args.config, args.checkpoint, Options(work_dir=f'{args.out_dir}/log', **options))
    pictures = draw_detections(cfg, args.out_dir, args.num_images, args.score_threshold)
    print(f'written: {len(pictures)} pictures in {args.out_dir}')
