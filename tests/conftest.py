"""Every test runs on one thread: the suite runs two processes side by side."""

import torch

torch.set_num_threads(1)
