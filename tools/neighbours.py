"""``mixcl neighbours`` as a script."""

from mixcl.console import run

if __name__ == '__main__':
    run('neighbours')
