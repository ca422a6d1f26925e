"""COCO and VOC data sets: what is read, and what is refused."""

import json
import re

import numpy as np
import pytest
from detection.voc_shapes import write_voc
from pycocotools.coco import COCO
from torch.utils.data import DataLoader

from mixcl.errors import UserError
from mixcl.registry import DATASETS
from tools.examples.shapes import CLASSES, write_shapes


@pytest.fixture
def shapes(tmp_path):
    return write_shapes(tmp_path / 'shapes', 6)


@pytest.fixture
def voc(tmp_path):
    return write_voc(tmp_path / 'voc', 2)


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
    return DATASETS.build(
        dict(
            type='mixcl.VOCDetection',
            data_root=str(folder),
            ann_file='VOC2007/ImageSets/Main/test.txt',
            data_prefix=dict(sub_data_root='VOC2007/'),
            **changes,
        )
    )


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
        assert [CLASSES[label] for label in sample['gt_bboxes_labels']] == [
            reference.cats[one['category_id']]['name'] for one in annotations
        ]
        assert sample['gt_ignore_flags'].tolist() == [bool(one['iscrowd']) for one in annotations]
        for mask, one in zip(sample['gt_masks'].masks, annotations, strict=True):
            assert np.array_equal(mask, reference.annToMask(one))
    assert forms == {'list', 'dict'} and any(one['iscrowd'] for one in reference.anns.values())


def test_a_class_that_the_annotations_lack_is_refused(shapes):
    """mmdet would give the third class the second label."""
    change(shapes, lambda content: content['categories'].pop(1))
    assert coco_set(shapes, type='mmdet.CocoDataset').cat2label == {10: 0, 30: 1}
    with pytest.raises(UserError, match=r"annotations.json has classes but lacks 1 of the 3 .*'rectangle'"):
        coco_set(shapes)


def test_classes_in_another_order_are_refused(shapes):
    """mmdet numbers them as the file has them, so that the names in results and pictures would be wrong."""
    assert coco_set(shapes, type='mmdet.CocoDataset', metainfo=dict(classes=CLASSES[::-1])).cat2label[10] == 0
    with pytest.raises(UserError, match='in the order circle, rectangle, triangle; list its own, in its order'):
        coco_set(shapes, metainfo=dict(classes=CLASSES[::-1]))


def test_some_of_the_classes_are_enough(shapes):
    dataset = coco_set(shapes, metainfo=dict(classes=('circle', 'triangle')))
    assert dataset.cat2label == {10: 0, 30: 1}


def test_objects_without_masks_are_refused_where_masks_are_trained(shapes):
    change(shapes, lambda content: content['annotations'][0].pop('segmentation'))
    with pytest.raises(UserError, match=r'1 object\(s\) in .*annotations.json have no segmentation'):
        coco_set(shapes)
    boxes = [dict(type='mmdet.LoadAnnotations', with_bbox=True)]
    assert len(coco_set(shapes, pipeline=boxes)) == 6


@pytest.mark.parametrize('filter_cfg', [dict(filter_empty_gt=True), dict(min_size=500)], ids=str)
def test_no_image_left_is_refused(shapes, filter_cfg):
    change(shapes, lambda content: content['annotations'].clear())
    with pytest.raises(UserError, match=r'no image of .*annotations.json is left'):
        coco_set(shapes, filter_cfg=filter_cfg)


def test_what_is_missing_is_named(shapes):
    with pytest.raises(UserError, match=r'there is no annotation file .*other.json'):
        coco_set(shapes, ann_file='other.json')
    with pytest.raises(UserError, match=r'6 image file\(s\)'):
        coco_set(shapes, data_prefix=dict(img='elsewhere/'))
    (shapes / 'images/004.png').unlink()
    with pytest.raises(UserError, match=r'1 image file\(s\) that .*annotations.json names are missing.*004.png'):
        coco_set(shapes)


def test_an_unreadable_image_ends_a_test_in_a_sentence(shapes):
    """Also where a data worker meets it."""
    path = shapes / 'images/002.png'
    path.write_bytes(path.read_bytes()[:100])
    loader = DataLoader(coco_set(shapes, test_mode=True), batch_size=None, num_workers=1)
    with pytest.raises(UserError) as error:
        list(loader)
    assert re.match(r'the image \S+/002.png \(.*\) cannot be read, and a test needs every image', str(error.value))


@pytest.mark.parametrize('text', ['{', '[]', '{"categories": [{"id": 1}]}', '{"images": [{"width": 1}]}'])
def test_what_is_no_coco_file_is_refused(shapes, text):
    (shapes / 'annotations.json').write_text(text)
    with pytest.raises(UserError, match=r'annotations\.json is no COCO annotation file'):
        coco_set(shapes)


def test_voc_is_read_with_difficult_objects_to_ignore(voc):
    dataset = voc_set(voc)
    assert len(dataset) == 2
    with pytest.raises(UserError, match=r'no image of .*test.txt is left'):
        voc_set(voc, filter_cfg=dict(min_size=500))
    for index in range(2):
        objects = dataset.get_data_info(index)['instances']
        assert [item['ignore_flag'] for item in objects] == [
            int(i == 0 and len(objects) > 1) for i in range(len(objects))
        ]
        assert {dataset.metainfo['classes'][item['bbox_label']] for item in objects} <= {'car', 'dog', 'person'}


@pytest.mark.parametrize(
    ('path', 'message'),
    [
        ('JPEGImages/2007_000001.jpg', r'1 image file\(s\).*2007_000001.jpg'),
        ('Annotations/2007_000000.xml', r'1 annotation file\(s\).*2007_000000.xml'),
        ('ImageSets/Main/test.txt', 'there is no annotation file'),
    ],
)
def test_missing_voc_files_are_named(voc, path, message):
    (voc / 'VOC2007' / path).unlink()
    with pytest.raises(UserError, match=message):
        voc_set(voc)
