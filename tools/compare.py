"""``mixcl compare`` as a script."""

from mixcl.console import run

if __name__ == '__main__':
    run('compare')
