"""Train loop, hooks, schedules and optimiser wrappers that mmengine lacks."""

from mixcl.engine.hooks import *
from mixcl.engine.optimizers import *
from mixcl.engine.runners import *
from mixcl.engine.schedulers import *
from mixcl.engine.vis_backends import *
