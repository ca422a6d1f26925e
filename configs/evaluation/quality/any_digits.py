# Quality of the representation on scikit-learn's digits. Any backbone; by itself the quick start's small ViT.
_base_ = ['../knn/any_digits.py', '../../_base_/evaluation/quality.py']
protocol = dict(_delete_=True, **_base_.quality_protocol, resize=_base_.protocol.resize, crop=_base_.protocol.crop)
test_evaluator = dict(_delete_=True, **_base_.quality_evaluator)
