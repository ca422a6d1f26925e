# Quality of the representation on TinyImageNet, enlarged to 224 pixels. Any backbone; by itself ResNet-18.
_base_ = ['../knn/any_tinyimagenet.py', '../../_base_/evaluation/quality.py']
protocol = dict(_delete_=True, **_base_.quality_protocol, resize=_base_.protocol.resize, crop=_base_.protocol.crop)
test_evaluator = dict(_delete_=True, **_base_.quality_evaluator)
