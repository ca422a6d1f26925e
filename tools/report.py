"""Write an HTML page about one run or several side by side: curves, figures, results.

``python tools/report.py work_dirs/quickstart`` writes ``work_dirs/quickstart/report.html``, which needs no other file.
"""

from mixcl.starting import begin

begin(__name__)

import argparse
from pathlib import Path

from mixcl.command_line import add_config_option
from mixcl.errors import reported_to_user


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description='Write one HTML file about one run, or several side by side.')
    parser.add_argument('runs', nargs='+', metavar='WORK_DIR', help='folders of runs')
    parser.add_argument('--out', metavar='FILE.html', help='default: report.html in the folder of the first run')
    add_config_option(parser, 'append')  # one for each run
    parser.add_argument('--data', metavar='KIND:PATH', help='folder:PATH, list:PATH.csv, hf:PATH or tar:PATTERN')
    parser.add_argument('--data-root', metavar='DIR', help='root folder of every data set of the configs')
    parser.add_argument('--allow-pickle', action='store_true', help='read checkpoints that may run code')
    return parser.parse_args()


if __name__ == '__main__':
    arguments = parse_arguments()  # before the imports that take seconds

from mixcl.visualization.report import write_report
from mixcl.weights import allow_pickle

if __name__ == '__main__':
    with reported_to_user():
        if arguments.allow_pickle:
            allow_pickle()
        out = arguments.out or Path(arguments.runs[0], 'report.html')
        print(f'written: {write_report(arguments.runs, out, arguments.data, arguments.data_root, arguments.config)}')
