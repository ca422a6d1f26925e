"""Check that mmdet and mmcv's compiled operators work, on the CPU and on a GPU if there is one: for `make det`."""

from mixcl.starting import begin

begin(__name__)

import argparse

from mixcl.errors import reported_to_user


def main() -> None:
    import torch

    from mixcl.detection.requirements import check_requirements

    devices = ['cpu', *(['cuda'] if torch.cuda.is_available() else [])]
    for device in devices:
        check_requirements(device)
    print(f"mmcv's operators work on {' and '.join(devices)} with torch {torch.__version__}")


if __name__ == '__main__':
    argparse.ArgumentParser(description="Check that mmdet and mmcv's operators work.").parse_args()
    with reported_to_user():
        main()
