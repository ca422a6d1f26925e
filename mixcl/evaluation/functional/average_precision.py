"""Average precision of a ranking, as the VOC challenges define it.

Images with equal scores are retrieved together, so that the order in which they come makes no difference.
"""

import numpy as np
from sklearn.metrics import precision_recall_curve


def average_precision(scores: np.ndarray, positive: np.ndarray) -> float:
    """Area under the precision-recall curve, with interpolated precision.

    The precision at a recall is the largest at that recall or a higher one. scikit-learn's
    ``average_precision_score`` takes the precision as it is and is never larger. Source: the VOC 2010 development kit
    and later ones.

    Args:
        scores: (N,) finite; larger ones are retrieved first.
        positive: (N,) bool, at least one.

    Returns:
        in (0, 1].
    """
    precision, recall, _ = precision_recall_curve(positive, scores)
    # Ordered from recall 1 down; scikit-learn appends a point (recall 0, precision 1) that no image stands for.
    interpolated = np.maximum.accumulate(precision[:-1])[::-1]
    return float(np.sum(np.diff(recall[-2::-1], prepend=0.0) * interpolated))
