# As emoji, tested on the part on which settings are chosen.
_base_ = './emoji.py'

data = dict(splits=dict(test=dict(ann_file='choice.txt')))
