# Linear probes on cached features of ImageNet-1K. Any backbone; by itself ViT-S/16.
# Two fits of 21 probes with 1,000 classes on 1.28 million features: minutes on a GPU, days on a CPU.
_base_ = ['../knn/any_in1k.py', '../../_base_/evaluation/linear_fast.py']
protocol = dict(_delete_=True, **_base_.linear_fast_protocol, resize=_base_.protocol.resize, crop=_base_.protocol.crop)
test_evaluator = dict(_delete_=True, **_base_.linear_fast_evaluator)
