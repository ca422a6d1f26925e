"""``mixcl visualize attention work_dirs/quickstart --images photos --out attention.png``: draw a figure."""

from argparse import ArgumentParser, Namespace
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from mixcl.command_line import add_allow_pickle, add_config_option, add_data_root, add_overrides, positive

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIGURES = dict(
    mix='originals and mixtures of a pretraining config, with the share of each source image',
    views='what augmentation does to images, with the parameters under each view',
    attention='heads of the last block of a vision transformer, and rollout; of mixtures the share of each source',
    tokens='principal components of patches, or of cells of the last map, as colours',
    similarity='cosines of what the loss compares beside its target, before and after training',
    keys='how similar keys of the same image, of its class and of other classes are to a query',
    neighbours='images and their nearest neighbours',
    map='features in two dimensions, by t-SNE or UMAP, with DBI and CHI',
    curves='loss, kNN, rank, learning rate and data wait of one run or several',
)
OPTIONS = ('num_images', 'k', 'among', 'worst', 'method', 'clusters')
"""Options of figures besides the model; each figure has its own defaults."""


def add_options(parser: ArgumentParser) -> None:
    figures = parser.add_subparsers(dest='figure', required=True, metavar='FIGURE')
    for name, text in FIGURES.items():
        figure = figures.add_parser(name, help=text, description=f'Draw {text}.')
        figure.add_argument('--out', nargs='+', default=[f'{name}.png'], metavar='FILE', help='.png, .svg or .pdf')
        if name == 'curves':
            figure.add_argument('runs', nargs='+', help='folders of runs')
            figure.add_argument('--by', choices=['epoch', 'step', 'hour'], default='epoch', help='the axis')
            continue
        figure.add_argument('model', metavar='CONFIG_OR_CHECKPOINT', help='config, checkpoint, or folder of a run')
        add_config_option(figure)
        images = figure.add_mutually_exclusive_group()
        images.add_argument('--images', metavar='FOLDER', help='a folder of images in the place of those of the config')
        images.add_argument('--data', metavar='KIND:PATH', help='folder:PATH, list:PATH.csv, hf:PATH or tar:PATTERN')
        figure.add_argument('--num-images', type=positive, help='how many images')
        figure.add_argument('--seed', type=int, default=0, help='of all random draws')
        add_data_root(figure)
        add_allow_pickle(figure)
        figure.add_argument('--smoke', action='store_true', help='synthetic images at reduced size instead of data')
        add_overrides(figure)
        if name in ('attention', 'tokens', 'keys', 'neighbours', 'map'):
            figure.add_argument(
                '--encoder',
                choices=['online', 'target'],
                help="of a checkpoint; default: that of the method's linear probe",
            )
            figure.add_argument('--image-size', type=int, metavar='PIXELS', help='of images of --images or --data')
        if name == 'neighbours':
            figure.add_argument('--k', type=positive, help='neighbours of each image')
            figure.add_argument('--among', type=positive, metavar='N', help='look at so many images at most')
            figure.add_argument('--worst', action='store_true', default=None, help='worst mistakes first; needs labels')
        if name == 'map':
            figure.add_argument('--method', choices=['tsne', 'umap'], help='default: tsne')
            figure.add_argument('--clusters', type=positive, metavar='K', help='colour by k-means instead of by class')


def run(args: Namespace) -> None:
    from mixcl.visualization.canvas import check_figure_path, write
    from mixcl.visualization.curves import curves_figure

    for path in args.out:
        check_figure_path(path)
    figure = curves_figure(args.runs, args.by) if args.figure == 'curves' else figure_of_images(args)
    print(f'written: {", ".join(str(write(figure, path)) for path in args.out)}')


def figure_of_images(args: Namespace) -> 'Figure':
    from mixcl.visualization.figures import drawn
    from mixcl.visualization.pictured import read_pictured

    options = {name: value for name in OPTIONS if (value := getattr(args, name, None)) is not None}
    source = f'folder:{Path(args.images)}' if args.images else args.data
    pictured = read_pictured(args.model, args.config, args.cfg_options, args.data_root, source, args.smoke)
    encoder, image_size = (getattr(args, name, None) for name in ('encoder', 'image_size'))
    pictured = replace(pictured, seed=args.seed, encoder=encoder, image_size=image_size)
    return drawn(args.figure, pictured, **options)
