"""Write the emoji of two houses as pictures on white, to pretrain on: ``python tools/emoji.py data/emoji``.

The same 1,599 emoji as Google and as Twitter draw them, in 8 categories and 94 subcategories, from the npm packages
emoji-datasource-google and emoji-datasource-twitter. The folder then has ``google/``, ``twitter/``, ``emoji.csv`` with
name, category, subcategory and part of each, the lists that ``configs/_base_/data/emoji.py`` and ``emoji_twins.py``
read, and the licences. The parts are whole subcategories.
"""

import argparse
import csv
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from PIL import Image

HOUSES = dict(google='Apache License 2.0', twitter='Creative Commons Attribution 4.0')
"""Houses, and the licence of their pictures as the packages' README states it."""
VERSION = '16.0.0'
LEFT_OUT = ('Flags', 'Component', 'family')
"""Categories and a subcategory that Twitter's drawings repeat, pixel by pixel, or that are no emoji."""
SHARE = 1 / 5
"""Largest share of a category in a part that is not trained on."""
NPM = 'npm cannot fetch the packages ({}): unpack {} by hand and give their folder with --packages'


def chosen(emoji: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the emoji that both houses draw, without :data:`LEFT_OUT`, in the order of their pictures' names."""
    kept = [
        one
        for one in emoji
        if not {one['category'], one['subcategory']} & {*LEFT_OUT} and all(one[f'has_img_{house}'] for house in HOUSES)
    ]
    return sorted(kept, key=lambda one: one['image'])


def parts(emoji: list[dict[str, Any]]) -> dict[str, str]:
    """Return the part of each subcategory: 'test', 'choice' or 'train'.

    Per category, subcategories in the order of the SHA-256 of their names are taken as long as the part stays at or
    below :data:`SHARE` of the category: first for 'test', then, of the rest, for 'choice'.
    """
    sizes = Counter((one['category'], one['subcategory']) for one in emoji)
    found: dict[str, str] = {}
    for category, total in Counter(one['category'] for one in emoji).items():
        own = [name for of, name in sizes if of == category]
        own.sort(key=lambda name: hashlib.sha256(name.encode()).hexdigest())
        for part in ('test', 'choice'):
            taken = 0
            for name in own:
                if name not in found and taken + sizes[category, name] <= SHARE * total:
                    found[name] = part
                    taken += sizes[category, name]
        found |= {name: 'train' for name in own if name not in found}
    return found


def write(packages: Path, out: Path) -> str:
    """Write the pictures, names, lists and licences of unpacked packages; return a sentence about them."""
    folders = {house: packages / f'emoji-datasource-{house}' for house in HOUSES}
    emoji = chosen(json.loads((folders['google'] / 'emoji.json').read_text()))
    part_of = parts(emoji)
    for house, folder in folders.items():
        (out / house).mkdir(parents=True, exist_ok=True)
        for one in emoji:
            with Image.open(folder / 'img' / house / '64' / one['image']) as picture:
                drawn = picture.convert('RGBA')
            white = Image.new('RGBA', drawn.size, 'white')
            Image.alpha_composite(white, drawn).convert('RGB').save(out / house / one['image'])
        for name in ('LICENSE', 'README.md'):
            shutil.copy(folder / name, out / f'{house}-{name}')
    licences = [f'{house}/: {licence}, see {house}-README.md' for house, licence in HOUSES.items()]
    (out / 'LICENCES').write_text('\n'.join(['names and categories: MIT, see google-LICENSE', *licences, '']))
    columns = ('image', 'name', 'category', 'subcategory')
    with (out / 'emoji.csv').open('w', newline='') as file:
        table = csv.writer(file)
        table.writerow([*columns, 'part'])
        table.writerows([*(one[column] for column in columns), part_of[one['subcategory']]] for one in emoji)
    categories = sorted({one['category'] for one in emoji})
    (out / 'categories.txt').write_text('\n'.join([*categories, '']))
    for part in ('train', 'choice', 'test'):
        own = [one for one in emoji if part_of[one['subcategory']] == part]
        labelled = [(one['image'], categories.index(one['category'])) for one in own]
        lines = {house: [f'{house}/{image} {label}' for image, label in labelled] for house in HOUSES}
        _write_lines(out / f'{part}.txt', [line for own_lines in lines.values() for line in own_lines])
        for house in HOUSES:  # every emoji is a class of its own
            _write_lines(out / f'{part}_{house}.txt', [f'{house}/{one["image"]} {row}' for row, one in enumerate(own)])
    counts = Counter(part_of[one['subcategory']] for one in emoji)
    return f'{len(emoji)} emoji, each by {len(HOUSES)} houses, in {out}: {dict(counts)}'


def _write_lines(path: Path, lines: list[str]) -> None:
    path.write_text('\n'.join([*lines, '']))


def fetched(folder: str) -> Path:
    """Let npm unpack the packages below a folder; raises SystemExit if it cannot."""
    names = [f'emoji-datasource-{house}@{VERSION}' for house in HOUSES]
    words = ['npm', 'install', '--ignore-scripts', '--no-save', '--no-audit', '--no-fund', '--prefix', folder, *names]
    try:
        subprocess.run(words, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(NPM.format(error, ' and '.join(names)))
    return Path(folder, 'node_modules')


def main() -> None:
    parser = argparse.ArgumentParser(description='Write the emoji of Google and Twitter as pictures on white.')
    parser.add_argument('out', type=Path, metavar='DIR', help='such as data/emoji, where the configs look')
    parser.add_argument('--packages', type=Path, metavar='DIR', help='unpacked packages; else npm fetches them')
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        packages = args.packages or fetched(folder)
        try:
            print(write(packages, args.out))
        except FileNotFoundError as error:
            sys.exit(f'{error.filename} is missing: {packages} must hold emoji-datasource-google and -twitter')


if __name__ == '__main__':
    main()
