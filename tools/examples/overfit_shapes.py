"""Shows that a ViT Mask R-CNN learns: draw shapes, train on them, test on the same images. Minutes on two CPU cores.

``python tools/examples/overfit_shapes.py --work-dir work_dirs/shapes`` exits with 1 unless the box AP50 is above 0.8.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

from shapes import write_shapes

ROOT = Path(__file__).parents[2]
CONFIG = 'configs/transfer/shapes/mask-rcnn_vit-xs16.py'
LEAST = 0.8


def run(tool: str, *arguments: object) -> None:
    subprocess.run([sys.executable, f'tools/{tool}.py', CONFIG, *map(str, arguments)], cwd=ROOT, check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description='Train a tiny detector until it knows its images by heart.')
    parser.add_argument('--work-dir', type=Path, default=Path('work_dirs/shapes'))
    parser.add_argument('--pretrained', help='checkpoint to start the backbone from')
    arguments = parser.parse_args()
    folder = arguments.work_dir.resolve()
    data = write_shapes(folder / 'data')
    pretrained = ['--pretrained', Path(arguments.pretrained).resolve()] if arguments.pretrained else []
    run('train', '--data-root', data, '--work-dir', folder, '--overwrite', *pretrained)
    checkpoint = (folder / 'last_checkpoint').read_text().strip()
    run('test', checkpoint, '--data-root', data, '--work-dir', folder, '--out', folder / 'results.json')
    results = json.loads((folder / 'results.json').read_text())
    precision = results['coco/bbox_mAP_50']
    print(f'box AP50 {precision:.3f}, mask AP50 {results["coco/segm_mAP_50"]:.3f} on the training images')
    sys.exit(0 if precision > LEAST else 1)


if __name__ == '__main__':
    main()
