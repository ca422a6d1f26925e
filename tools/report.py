"""Write an HTML page about one run or several side by side: what was trained, curves, figures, results.

``python tools/report.py work_dirs/quickstart`` writes ``work_dirs/quickstart/report.html``, which needs no other file.
"""

import argparse
from pathlib import Path

from mixcl.errors import reported_to_user


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description='Write one HTML file about one run, or several side by side.')
    parser.add_argument('runs', nargs='+', metavar='WORK_DIR', help='folders of runs')
    parser.add_argument('--out', metavar='FILE.html', help='default: report.html in the folder of a single run, or here')
    images = parser.add_mutually_exclusive_group()
    images.add_argument('--images', metavar='FOLDER', help='a folder of images in the place of those of the config')
    images.add_argument('--data', metavar='KIND:PATH', help='folder:PATH, list:PATH.csv, hf:PATH or tar:PATTERN')
    parser.add_argument('--data-root', metavar='DIR', help='root folder of every data set of the configs')
    parser.add_argument('--allow-pickle', action='store_true', help='read checkpoints that may run code')
    return parser.parse_args()


if __name__ == '__main__':
    arguments = parse_arguments()  # before the imports that take seconds

from mixcl.visualization.report import write_report
from mixcl.weights import allow_pickle


def main(args: argparse.Namespace) -> None:
    if args.allow_pickle:
        allow_pickle()
    out = args.out or Path(args.runs[0] if len(args.runs) == 1 else '.', 'report.html')
    source = f'folder:{Path(args.images)}' if args.images else args.data
    written = write_report(args.runs, out, source, args.data_root)
    print(f'written: {written}, {written.stat().st_size / 1e6:.1f} MB')


if __name__ == '__main__':
    with reported_to_user():
        main(arguments)
