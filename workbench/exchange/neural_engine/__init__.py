"""Neural Engine's profiling files: the CSV with live formulas and the Chrome trace of three levels.

Their layout is that of the engine's own `profiling.hpp`, kept to the character where the engine's is sound.
"""

from workbench.exchange.neural_engine.csv_reader import is_neural_engine_csv, read_profile_csv
from workbench.exchange.neural_engine.csv_writer import file_name, profile_csv, write_profile_csv
from workbench.exchange.neural_engine.trace_reader import is_neural_engine_trace, read_trace
from workbench.exchange.neural_engine.trace_writer import trace_document, write_trace

__all__ = [
    "file_name",
    "is_neural_engine_csv",
    "is_neural_engine_trace",
    "profile_csv",
    "read_profile_csv",
    "read_trace",
    "trace_document",
    "write_profile_csv",
    "write_trace",
]
