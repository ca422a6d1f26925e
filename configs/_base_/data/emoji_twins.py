# Held-out emoji, each a class of its own: Google's drawings, among which the twins of Twitter's are looked for.
_base_ = './emoji.py'

data = dict(splits=dict(train=dict(ann_file='test_google.txt'), test=dict(ann_file='test_twitter.txt')))
evaluated = dict(classes=297, protocols=['knn'])
