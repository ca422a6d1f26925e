# As emoji_twins, of the part on which settings are chosen.
_base_ = './emoji.py'

data = dict(splits=dict(train=dict(ann_file='choice_google.txt'), test=dict(ann_file='choice_twitter.txt')))
evaluated = dict(classes=267, protocols=['knn'])
