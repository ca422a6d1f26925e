# SDMP on DINO for 100 epochs (Tables 8 and 10: linear 74.4).
_base_ = './vit-s16_in1k_dino.py'

model = dict(objective=dict(warmup=0.3))  # of the run, 30 epochs as for 300
train_cfg = dict(max_epochs=100)
