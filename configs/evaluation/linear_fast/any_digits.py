# Linear probes on cached features of scikit-learn's digits. Any backbone; by itself the quick start's small ViT.
_base_ = ['../knn/any_digits.py', '../../_base_/evaluation/linear_fast.py']
protocol = dict(_delete_=True, **_base_.linear_fast_protocol, resize=_base_.protocol.resize, crop=_base_.protocol.crop)
test_evaluator = dict(_delete_=True, **_base_.linear_fast_evaluator)
