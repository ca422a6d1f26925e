"""``mixcl doctor``: show what is installed, missing or broken, what it is for, and the command that helps.

Exit status: 0 if pretraining can work, 1 if not, 2 for a mistake in the command.
"""

from argparse import ArgumentParser, Namespace

from mixcl import doctor  # and nothing that needs other packages


def add_options(parser: ArgumentParser) -> None:
    """Add none."""


def run(args: Namespace) -> int:
    findings = doctor.check_packages()
    faults = [finding.subject for finding in findings if finding.state == doctor.FAULT]
    if not faults:
        findings += [doctor.check_detection(), *doctor.check_gpus()]
    for finding in findings:
        print('{:5}  {}: {}'.format(*finding))
    faults = [finding.subject for finding in findings if finding.state == doctor.FAULT]
    print(f'pretraining cannot work: {", ".join(faults)}' if faults else 'pretraining can work')
    return 1 if faults else 0
