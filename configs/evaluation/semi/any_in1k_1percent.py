# Fine-tuning on 1 % of ImageNet-1K, as the list 1percent.txt beside the images says.
_base_ = './vit-s16_in1k_1percent.py'
