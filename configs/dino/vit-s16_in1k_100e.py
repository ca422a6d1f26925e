# DINO for 100 epochs (SDMP, Table 10: linear 74.0 with eight local crops).
_base_ = './vit-s16_in1k.py'

model = dict(objective=dict(warmup=0.3))  # of the run, 30 epochs as for 300
train_cfg = dict(max_epochs=100)
