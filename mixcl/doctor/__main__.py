"""The report: ``python -m mixcl.doctor [--json FILE]``.

Exit status: 0 if pretraining can work, 1 if not, 2 for a mistake in the command.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from mixcl.doctor.findings import FAULT, Finding
from mixcl.doctor.operators import check_mmcv, check_torchvision
from mixcl.doctor.packages import check_packages
from mixcl.errors import UserError, reported_to_user


def main() -> None:
    parser = argparse.ArgumentParser(prog='python -m mixcl.doctor', description='What is installed, missing or broken.')
    parser.add_argument('--json', metavar='FILE', help='also write findings and the environment record to a file')
    args = parser.parse_args()
    if args.json and not Path(args.json).absolute().parent.is_dir():
        raise UserError(f'--json {args.json}: the folder does not exist')
    packages = check_packages()
    _report('packages', packages)
    operators = [check_torchvision(), check_mmcv()]
    _report('compiled operators', operators)
    findings = [*packages, *operators]
    if not any(finding.state == FAULT for finding in packages):
        findings += _machine_and_data()
    if args.json:
        _write(args.json, findings)
    faults = [finding.subject for finding in findings if finding.state == FAULT]
    print(f'\npretraining cannot work: {", ".join(dict.fromkeys(faults))}' if faults else '\npretraining can work')
    sys.exit(1 if faults else 0)


def _machine_and_data() -> list[Finding]:
    # They need packages that may be missing.
    from mixcl.doctor.data import check_data
    from mixcl.doctor.machine import check_machine

    machine, data = check_machine(), check_data()
    _report('machine', machine)
    _report('data folders', data)
    return [*machine, *data]


def _report(title: str, findings: Sequence[Finding]) -> None:
    print(f'\n{title}')
    for state, subject, sentence in findings:
        print(f'  {state:5}  {subject}: {sentence}')


def _write(path: str, findings: Sequence[Finding]) -> None:
    from mixcl.environment import environment

    record = dict(findings=[finding._asdict() for finding in findings], environment=environment())
    Path(path).write_text(json.dumps(record, indent=1), encoding='utf-8')


if __name__ == '__main__':
    with reported_to_user():
        main()
