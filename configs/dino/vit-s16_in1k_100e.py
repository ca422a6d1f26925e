# DINO for 100 epochs (SDMP, Table 10: linear 74.0 with eight local crops).
_base_ = './vit-s16_in1k.py'

schedule = dict(epochs=100)
