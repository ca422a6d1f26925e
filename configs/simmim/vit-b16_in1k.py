# SimMIM, ViT-B/16 on ImageNet-1K: batch 2048, 800 epochs (APS, Table 1: fine-tuned 83.8).
_base_ = ['../_base_/methods/simmim.py', '../_base_/data/in1k.py']
