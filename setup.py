"""Packaging of mixcl. Settings of linters are in pyproject.toml."""

import re
import shutil
from itertools import chain
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent

MODEL_INDEX = 'Import: []\n'
"""Index that mmengine needs to follow ``_base_ = 'mixcl::patchmix/vit-s16_in1k.py'``; no weights are released."""


class BuildWithConfigs(build_py):
    """Build command that ships configs/ and tools/ under mixcl/.mim, where the OpenMMLab tools look for them."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            target = ROOT / 'mixcl' / '.mim'
            target.mkdir(exist_ok=True)
            (target / 'model-index.yml').write_text(MODEL_INDEX)
            for folder in ('configs', 'tools'):
                link = target / folder
                if not link.exists():
                    link.symlink_to(Path('..', '..', folder))
            return
        target = Path(self.build_lib) / 'mixcl' / '.mim'
        for folder in ('configs', 'tools'):
            shutil.copytree(
                ROOT / folder, target / folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns('__pycache__')
            )
        (target / 'model-index.yml').write_text(MODEL_INDEX)


def version() -> str:
    return re.search(r"__version__ = '(.+)'", (ROOT / 'mixcl/__init__.py').read_text(encoding='utf-8')).group(1)


OPTIONAL = dict(
    export=['transformers', 'onnx', 'onnxscript', 'onnxruntime'],
    datasets=['datasets>=3'],  # --data hf:PATH
    lora=['peft'],
)
DOCUMENTATION = ['sphinx', 'myst-parser', 'furo']
CHECKS = ['pytest', 'pytest-xdist', 'pytest-timeout', 'hypothesis', 'mypy', 'ruff', 'setuptools', 'wheel']

setup(
    name='mixcl',
    version=version(),
    description='Contrastive pretraining on mixed images: PatchMix and relatives, as tables of terms.',
    long_description=(ROOT / 'README.md').read_text(encoding='utf-8'),
    long_description_content_type='text/markdown',
    license='Apache-2.0',
    packages=find_packages(include=['mixcl', 'mixcl.*']),
    package_data={
        'mixcl': ['py.typed'],
        'mixcl.evaluation': ['published.json'],
        'mixcl.visualization.report': ['page.html'],
    },
    entry_points={'console_scripts': ['mixcl = mixcl.console:main']},
    python_requires='>=3.10',
    cmdclass={'build_py': BuildWithConfigs},
    install_requires=[
        'torch>=2.6',  # fully_shard
        'torchvision',
        'timm>=1.0',
        'huggingface_hub',  # timm's own: weights by name
        'scikit-learn',
        'scipy',
        'numpy',
        'matplotlib',
        'pillow',
        'jinja2',
        'joblib',
        'safetensors',
        'tensorboard',
        'rich',
        # The maintained continuation of the OpenMMLab packages; import names mmengine, mmcv, mmpretrain.
        'onedl-mmengine>=0.10.12,<0.11',
        'onedl-mmcv>=2.3.6,<2.4',
        'onedl-mmpretrain>=1.3.6,<1.4',
        'opencv-python-headless',  # mmengine imports cv2 without declaring it
    ],
    extras_require={
        'det': [
            'onedl-mmdetection>=3.5.1,<3.6',
            'pycocotools',
        ],  # and mmcv with its compiled operators, see docs/detection.md
        **OPTIONAL,
        'docs': DOCUMENTATION,
        'test': [*CHECKS, *DOCUMENTATION, 'lightning', 'ipykernel', 'nbclient', 'nbformat', *chain(*OPTIONAL.values())],
    },
)
