"""``mixcl neighbours RUN QUERY... --among FOLDER``: print and draw the nearest images of a folder."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from mixcl.command_line import WEIGHTS, add_allow_pickle, add_config_option, positive
from mixcl.errors import UserError, printable

EXAMPLES = """
example:
  mixcl neighbours run cat.jpg dog.jpg --among photos
"""


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument('checkpoint', metavar='RUN', help=WEIGHTS)
    parser.add_argument('queries', nargs='+', type=Path, metavar='QUERY', help='an image')
    parser.add_argument('--among', required=True, metavar='FOLDER', help='the images to look at, however deep')
    parser.add_argument('--k', type=positive, default=7, help='images for each query; default 7')
    parser.add_argument('--out', default='neighbours.png', metavar='FILE', help='.png, .svg or .pdf')
    parser.add_argument('--encoder', choices=['online', 'target'], help="default: that of the method's linear probe")
    parser.add_argument('--image-size', type=positive, metavar='PIXELS', help="default: the run's")
    add_config_option(parser)
    add_allow_pickle(parser)


def run(args: Namespace) -> None:
    import numpy as np
    import torch

    from mixcl.apis.embedding import embed, images_in, load_backbone
    from mixcl.evaluation.functional.knn import nearest_neighbours
    from mixcl.visualization.canvas import check_figure_path, write
    from mixcl.visualization.neighbours import draw_found

    check_figure_path(args.out)
    if missing := [path for path in args.queries if not path.is_file()]:
        raise UserError(f'there is no image {missing[0]}')
    encoder, files = load_backbone(args.checkpoint, args.encoder, args.config, args.image_size), images_in(args.among)
    queries, bank = (torch.from_numpy(embed(encoder, images)) for images in (args.queries, files))
    readable = np.flatnonzero(~bank.isnan().any(dim=1))
    if queries.isnan().any():
        raise UserError('leave out the queries that cannot be read')
    # One more, since a query may be one of the files.
    cosines, indices = nearest_neighbours(queries, bank[readable], args.k + 1)
    nearest = {}
    for query, values, rows in zip(args.queries, cosines.tolist(), readable[indices.numpy()].tolist(), strict=True):
        pairs = ((value, files[row]) for value, row in zip(values, rows, strict=True))
        nearest[query] = [pair for pair in pairs if not pair[1].samefile(query)][: args.k]
        print(printable(str(query)))
        for value, path in nearest[query]:
            print(f'  {value:.3f}  {printable(str(path))}')
    figure = draw_found(f'{encoder.side} encoder in {encoder.source}', encoder.preprocess, nearest)
    print(f'written: {write(figure, args.out)}')
