"""Average precision of a ranking, as the VOC challenges define it.

Images with equal scores are retrieved together, so that the order in which they come makes no difference.
"""

import numpy as np
from sklearn.metrics import precision_recall_curve

ROUNDING = 1e-9
"""Less than the distance of any recall below ten million positives to a tenth that it does not reach."""


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
    recall, precision = _interpolated_curve(scores, positive)
    return float(np.sum(np.diff(recall, prepend=0.0) * precision))


def eleven_point_average_precision(scores: np.ndarray, positive: np.ndarray) -> float:
    """Mean of the interpolated precision at the recalls 0, 0.1, ..., 1.

    Source: Everingham et al., The PASCAL Visual Object Classes (VOC) challenge, 2010, section 4.2; used until VOC 2009.

    Arguments and result same as :func:`average_precision`.
    """
    recall, precision = _interpolated_curve(scores, positive)
    reached = np.searchsorted(recall, np.arange(11) / 10 - ROUNDING)
    return float(precision[reached].mean())


def _interpolated_curve(scores: np.ndarray, positive: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Recalls in ascending order, the last one 1, and the interpolated precision at each; one per distinct score."""
    precision, recall, _ = precision_recall_curve(positive, scores)
    # Ordered from recall 1 down; scikit-learn appends a point (recall 0, precision 1) that no image stands for.
    return recall[-2::-1], np.maximum.accumulate(precision[:-1])[::-1]
