# SDMP on DINO for 100 epochs (Tables 8 and 10: linear 74.4).
_base_ = './vit-s16_in1k_dino.py'

schedule = dict(epochs=100)
