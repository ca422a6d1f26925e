"""tools/emoji.py: which emoji are in which part, and what it writes of packages as npm unpacks them."""

import csv
import json
import runpy
from collections import Counter
from pathlib import Path

import numpy as np
from PIL import Image
from tools.command import ROOT, run

from mixcl.recipes.paths import innermost
from mixcl.recipes.prepared import Options, prepared_to_train
from mixcl.registry import DATASETS, build

SUBCATEGORIES = {
    'Activities': 'arts & crafts 7, award-medal 6, event 21, game 24, sport 27',
    'Animals & Nature': 'animal-amphibian 1, animal-bird 22, animal-bug 16, animal-mammal 66, animal-marine 17, '
    'animal-reptile 8, plant-flower 12, plant-other 17',
    'Food & Drink': 'dishware 7, drink 20, food-asian 17, food-fruit 20, food-prepared 34, food-sweet 14, '
    'food-vegetable 19',
    'Objects': 'book-paper 17, clothing 47, computer 14, household 25, light & video 16, lock 6, mail 13, medical 7, '
    'money 10, music 9, musical-instrument 12, office 23, other-object 9, phone 6, science 7, sound 9, tool 27, '
    'writing 7',
    'People & Body': 'body-parts 18, hand-fingers-closed 6, hand-fingers-open 11, hand-fingers-partial 9, hand-prop 3, '
    'hand-single-finger 7, hands 7, person 28, person-activity 57, person-fantasy 32, person-gesture 30, '
    'person-resting 5, person-role 82, person-sport 43, person-symbol 11',
    'Smileys & Emotion': 'cat-face 9, emotion 14, face-affection 9, face-concerned 26, face-costume 8, face-glasses 3, '
    'face-hand 7, face-hat 3, face-negative 8, face-neutral-skeptical 16, face-sleepy 6, face-smiling 14, '
    'face-tongue 6, face-unwell 12, heart 25, monkey-face 3',
    'Symbols': 'alphanum 39, arrow 21, av-symbol 25, currency 2, gender 3, geometric 34, keycap 13, math 6, '
    'other-symbol 22, punctuation 7, religion 13, transport-sign 13, warning 13, zodiac 13',
    'Travel & Places': 'hotel 2, place-building 27, place-geographic 9, place-map 7, place-other 17, place-religious '
    '6, sky & weather 47, time 31, transport-air 13, transport-ground 50, transport-water 9',
}
"""How many emoji the packages have of each, version 16.0.0."""


def test_parts_of_the_real_packages() -> None:
    emoji = [
        dict(category=category, subcategory=name)
        for category, words in SUBCATEGORIES.items()
        for name, count in (word.rsplit(' ', 1) for word in words.split(', '))
        for _ in range(int(count))
    ]
    found = runpy.run_path(str(ROOT / 'tools/emoji.py'))['parts'](emoji)
    assert Counter(found.values()) == dict(test=29, choice=14, train=51)
    assert Counter(found[one['subcategory']] for one in emoji) == dict(test=297, choice=267, train=1035)
    tested = Counter(one['category'].split()[0] for one in emoji if found[one['subcategory']] == 'test')
    assert tested == dict(
        People=66, Objects=51, Symbols=44, Travel=41, Animals=31, Smileys=31, Food=20, Activities=13
    )  # fmt: skip
    assert {name for name, part in found.items() if part == 'choice'} >= {'clothing', 'time', 'face-hat', 'drink'}


def write_packages(folder: Path) -> None:
    """Write twelve emoji as the packages have them: Google's with transparency, Twitter's with a palette."""
    kinds = [('Symbols', f'kind{number}') for number in range(10)] + [('Flags', 'flag'), ('People & Body', 'family')]
    emoji = [
        dict(image=f'{number}.png', name=f'EMOJI {number}', category=category, subcategory=subcategory)
        | dict(has_img_google=True, has_img_twitter=True)
        for number, (category, subcategory) in enumerate(kinds)
    ]
    for house in ('google', 'twitter'):
        package = folder / f'emoji-datasource-{house}'
        images = package / 'img' / house / '64'
        images.mkdir(parents=True)
        (package / 'emoji.json').write_text(json.dumps(emoji))
        for name in ('LICENSE', 'README.md'):
            (package / name).write_text(f'{name} of {house}')
        for number in range(len(emoji)):
            pixels = np.full((64, 64, 4), (20 * number, 0, 0, 255), np.uint8)
            pixels[:8] = 0  # transparent black
            picture = Image.fromarray(pixels)
            (picture if house == 'google' else picture.quantize()).save(images / f'{number}.png')


def test_what_is_written_is_what_the_data_sets_read(tmp_path: Path) -> None:
    write_packages(tmp_path)
    done = run('tools/emoji.py', tmp_path / 'emoji', '--packages', tmp_path)
    assert done.returncode == 0 and '10 emoji, each by 2 houses' in done.stdout, done.stderr
    with (tmp_path / 'emoji/emoji.csv').open() as file:
        part_of = {row['image']: row['part'] for row in csv.DictReader(file)}
    assert Counter(part_of.values()) == dict(train=6, test=2, choice=2)
    assert (tmp_path / 'emoji/twitter-README.md').read_text() == 'README.md of twitter'
    for house in ('google', 'twitter'):
        with Image.open(tmp_path / f'emoji/{house}/3.png') as picture:
            assert picture.mode == 'RGB' and picture.getpixel((0, 0)) == (255,) * 3
            assert picture.getpixel((0, 63)) == (60, 0, 0)
    sizes = {}
    for name in ('emoji', 'emoji_choice'):
        cfg = prepared_to_train(
            'mocov3/vit-xs4_digits', Options(data=name, data_root=str(tmp_path / 'emoji'), work_dir=str(tmp_path))
        )
        loaders = (cfg.train_dataloader, cfg.val_cfg.bank_dataloader, cfg.val_dataloader)
        found = [build(DATASETS, innermost(loader.dataset)) for loader in loaders]
        sizes[name] = [len(images) for images in found]
        assert {part_of[Path(found[2].get_data_info(row)['img_path']).name] for row in range(len(found[2]))} == {
            dict(emoji='test', emoji_choice='choice')[name]
        }
        assert found[2][0]['inputs'].shape == (3, 32, 32)
    assert sizes == dict(emoji=[12, 12, 4], emoji_choice=[12, 12, 4])


def test_packages_that_are_missing_are_named(tmp_path: Path) -> None:
    done = run('tools/emoji.py', tmp_path / 'emoji', '--packages', tmp_path)
    assert done.returncode == 1 and 'emoji-datasource-google' in done.stderr and 'Traceback' not in done.stderr
