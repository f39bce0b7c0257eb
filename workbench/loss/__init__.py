"""How likely pruning a layer is to affect the loss: by measurement, by magnitude, or by architecture."""

from workbench.loss.analysis import LEVELS, loss_profile
from workbench.loss.metrics import Metric
from workbench.loss.patterns import Pattern

__all__ = ["LEVELS", "Metric", "Pattern", "loss_profile"]
