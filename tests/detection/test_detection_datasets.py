"""COCO and VOC data sets: what is read, and what is refused."""

import json
import re
import shutil

import numpy as np
import pytest
from pycocotools.coco import COCO
from torch.utils.data import DataLoader

from mixcl.datasets import KeyedDataset
from mixcl.errors import UserError
from mixcl.registry import DATASETS, TRANSFORMS
from tools.examples.shapes import CLASSES


@pytest.fixture
def changeable(shapes, tmp_path):
    return shutil.copytree(shapes, tmp_path / 'shapes')


def coco_set(folder, **changes):
    settings = dict(
        type='mixcl.CocoDetection',
        data_root=str(folder),
        ann_file='annotations.json',
        data_prefix=dict(img='images/'),
        metainfo=dict(classes=CLASSES),
        pipeline=[
            dict(type='mixcl.LoadImage'),
            dict(type='mmdet.LoadAnnotations', with_bbox=True, with_mask=True, _scope_='mmdet'),
        ],
    )
    return DATASETS.build({**settings, **changes})


def voc_set(folder, **changes):
    lists = dict(ann_file='VOC2007/ImageSets/Main/test.txt', data_prefix=dict(sub_data_root='VOC2007/'))
    return DATASETS.build(dict(type='mixcl.VOCDetection', data_root=str(folder), **lists, **changes))


def change(folder, edit):
    path = folder / 'annotations.json'
    content = json.loads(path.read_text())
    edit(content)
    path.write_text(json.dumps(content))


def test_polygons_run_lengths_and_crowds_are_read_as_pycocotools_reads_them(shapes):
    dataset = coco_set(shapes)
    reference = COCO(shapes / 'annotations.json')
    forms = set()
    for index in range(len(dataset)):
        sample = dataset[index]
        annotations = reference.loadAnns(reference.getAnnIds(imgIds=[sample['img_id']]))
        forms |= {type(one['segmentation']).__name__ for one in annotations}
        names = [reference.cats[one['category_id']]['name'] for one in annotations]
        assert [CLASSES[label] for label in sample['gt_bboxes_labels']] == names
        assert sample['gt_ignore_flags'].tolist() == [bool(one['iscrowd']) for one in annotations]
        for mask, one in zip(sample['gt_masks'].masks, annotations, strict=True):
            assert np.array_equal(mask, reference.annToMask(one))
    assert forms == {'list', 'dict'} and any(one['iscrowd'] for one in reference.anns.values())


def test_classes_that_mmdet_would_confuse_are_refused(changeable, shapes):
    assert coco_set(shapes, metainfo=dict(classes=('circle', 'triangle'))).cat2label == {10: 0, 30: 1}  # a subset
    # mmdet numbers classes in the file's order, so that the names in results and pictures would be wrong ...
    assert coco_set(shapes, type='mmdet.CocoDataset', metainfo=dict(classes=CLASSES[::-1])).cat2label[10] == 0
    with pytest.raises(UserError, match='in the order circle, rectangle, triangle; list its own, in its order'):
        coco_set(shapes, metainfo=dict(classes=CLASSES[::-1]))
    # ... and would give the third class the second label.
    change(changeable, lambda content: content['categories'].pop(1))
    assert coco_set(changeable, type='mmdet.CocoDataset').cat2label == {10: 0, 30: 1}
    with pytest.raises(UserError, match=r"annotations.json should have the 3 classes .* but lacks 'rectangle'"):
        coco_set(changeable)


def test_objects_without_masks_are_refused_where_masks_are_trained(changeable):
    change(changeable, lambda content: content['annotations'][0].pop('segmentation'))
    with pytest.raises(UserError, match=r'1 object\(s\) in .*annotations.json have no segmentation'):
        coco_set(changeable)
    boxes = [dict(type='mmdet.LoadAnnotations', with_bbox=True)]
    assert len(coco_set(changeable, pipeline=boxes)) == 6


def test_images_without_objects_are_counted(changeable, capsys):
    def drop(content):
        content['annotations'] = [one for one in content['annotations'] if one['image_id'] not in images]

    images = [one['id'] for one in json.loads((changeable / 'annotations.json').read_text())['images']][:2]
    change(changeable, drop)
    for filter_cfg, number in ((None, 6), (dict(filter_empty_gt=True), 4), (dict(filter_empty_gt=True, min_size=1), 4)):
        assert len(coco_set(changeable, filter_cfg=filter_cfg)) == number
        told = 'annotations.json: 4 of 6 images are trained on; 2 have no object of the classes (filter_empty_gt), 0 '
        assert (told in ''.join(capsys.readouterr())) == (number == 4)
    assert len(coco_set(changeable, filter_cfg=dict(filter_empty_gt=True), test_mode=True)) == 6


def test_no_image_left_is_refused(changeable):
    change(changeable, lambda content: content['annotations'].clear())
    for filter_cfg in (dict(filter_empty_gt=True), dict(min_size=500)):
        with pytest.raises(UserError, match=r'no image of .*annotations.json is left'):
            coco_set(changeable, filter_cfg=filter_cfg)


def test_what_is_missing_is_named(changeable):
    with pytest.raises(UserError, match=r'there is no annotation file .*other.json'):
        coco_set(changeable, ann_file='other.json')
    (changeable / 'images/004.png').unlink()
    with pytest.raises(UserError, match=r'1 image file\(s\) that .*annotations.json names are missing.*004.png'):
        coco_set(changeable)


def test_an_unreadable_image_is_replaced_in_training_and_ends_a_test(changeable):
    """The error is one sentence, even if a data worker meets the image."""
    path = changeable / 'images/002.png'
    path.write_bytes(path.read_bytes()[:100])
    training = coco_set(changeable)
    training.pipeline.transforms.append(TRANSFORMS.build(dict(type='mmdet.PackDetInputs')))
    sample = KeyedDataset(training)[2]['data_samples']
    assert [note.path for note in sample.unreadable] == [str(path)] and sample.img_path != str(path)
    loader = DataLoader(coco_set(changeable, test_mode=True), batch_size=None, num_workers=1)
    with pytest.raises(UserError) as error:
        list(loader)
    assert re.match(r'the image \S+/002.png \(.*\) cannot be read, and a test needs every image', str(error.value))


@pytest.mark.parametrize('test_mode', [False, True])
def test_difficult_objects_of_voc_are_learned_from_and_not_tested(voc, test_mode):
    """detectron2 and the development kit do the same."""
    dataset = voc_set(voc, test_mode=test_mode)
    assert len(dataset) == 4
    for index in range(4):
        objects = dataset.get_data_info(index)['instances']
        found = [(dataset.metainfo['classes'][item['bbox_label']], item['ignore_flag']) for item in objects]
        assert found == [('car', int(test_mode)), ('person', 0), ('person', 0)]
        assert all(item['bbox'] == [0, 0, 62, 62] for item in objects)  # VOC counts pixels from 1
    small = voc_set(voc, filter_cfg=dict(bbox_min_size=63)).get_data_info(0)['instances'] if not test_mode else []
    assert all(item['ignore_flag'] for item in small)
    with pytest.raises(UserError, match=r'no image of .*test.txt is left'):
        voc_set(voc, filter_cfg=dict(min_size=500))


def test_missing_voc_files_are_named(voc):
    for path, message in (
        ('JPEGImages/200701.jpg', r'1 image file\(s\).*200701.jpg'),
        ('ImageSets/Main/test.txt', 'there is no annotation file'),
    ):
        (voc / 'VOC2007' / path).unlink()
        with pytest.raises(UserError, match=message):
            voc_set(voc)
