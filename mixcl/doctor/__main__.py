"""The report: ``python -m mixcl.doctor [--json FILE]``.

Exit status: 0 if pretraining can work, 1 if not, 2 for a mistake in the command.
"""

import argparse
import json
import sys
from pathlib import Path

from mixcl.doctor import FAULT, Finding
from mixcl.doctor.packages import check_packages
from mixcl.errors import UserError, reported_to_user


def main() -> None:
    parser = argparse.ArgumentParser(prog='python -m mixcl.doctor', description='What is installed, missing or broken.')
    parser.add_argument('--json', metavar='FILE', help='also write findings and the environment record to a file')
    args = parser.parse_args()
    if args.json and not Path(args.json).absolute().parent.is_dir():
        raise UserError(f'--json {args.json}: the folder does not exist')
    findings, environment = _reported('packages', check_packages()), None
    if not any(finding.state == FAULT for finding in findings):
        # They need packages that may be missing.
        from mixcl.collect_env import collect_env
        from mixcl.doctor.data import check_data
        from mixcl.doctor.machine import check_detection, check_machine

        findings += _reported('detection', [check_detection()])
        findings += _reported('machine', check_machine())
        findings += _reported('data folders', check_data())
        environment = collect_env()
    if args.json:
        record = dict(findings=[finding._asdict() for finding in findings], environment=environment)
        Path(args.json).write_text(json.dumps(record, indent=1), encoding='utf-8')
    faults = ', '.join(finding.subject for finding in findings if finding.state == FAULT)
    print(f'\npretraining cannot work: {faults}' if faults else '\npretraining can work')
    sys.exit(1 if faults else 0)


def _reported(title: str, findings: list[Finding]) -> list[Finding]:
    print(f'\n{title}')
    for state, subject, sentence in findings:
        print(f'  {state:5}  {subject}: {sentence}')
    return findings


if __name__ == '__main__':
    with reported_to_user():
        main()
