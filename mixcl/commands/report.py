"""``mixcl report work_dirs/quickstart``: write an HTML page of curves, figures and results of one run or several.

It writes ``work_dirs/quickstart/report.html``, which needs no other file. Several runs, or the folder of mixcl compare,
get the page of a comparison.
"""

from argparse import ArgumentParser, Namespace

from mixcl.command_line import add_allow_pickle, add_config_option, add_data_root


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument('runs', nargs='+', metavar='WORK_DIR', help='folders of runs, or that of mixcl compare')
    parser.add_argument('--out', metavar='FILE.html', help='default: report.html in the folder of the first run')
    add_config_option(parser, 'append')  # one for each run
    parser.add_argument('--data', metavar='KIND:PATH', help='folder:PATH, list:PATH.csv, hf:PATH or tar:PATTERN')
    add_data_root(parser, 'root folder of every data set of the configs')
    add_allow_pickle(parser)


def run(args: Namespace) -> None:
    from mixcl.comparison.existing import report

    print(f'written: {report(args.runs, args.out, args.data, args.data_root, args.config)}')
