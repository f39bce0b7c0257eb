"""What the buttons do, written once against xlwings; the work is done by the functions that the commands use.

The order of the imports is that of the toolbar.
"""

from workbench.buttons.actions import recalculating, profiling, calibrating, losses, whatif, exporting, checking  # isort: skip

__all__ = ["calibrating", "checking", "exporting", "losses", "profiling", "recalculating", "whatif"]
