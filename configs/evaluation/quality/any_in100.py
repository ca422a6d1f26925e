# Quality of the representation on ImageNet-100. Any backbone; by itself ViT-S/16.
_base_ = ['../knn/any_in100.py', '../../_base_/evaluation/quality.py']
protocol = dict(_delete_=True, **_base_.quality_protocol, resize=_base_.protocol.resize, crop=_base_.protocol.crop)
test_evaluator = dict(_delete_=True, **_base_.quality_evaluator)
