# Fine-tuning of ResNets on 10 % of ImageNet-1K, as the list 10percent.txt beside the images says.
_base_ = './resnet_in1k_10percent.py'
