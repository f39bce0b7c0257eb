"""From an ONNX model to a `PerformanceProfile`: measured with ONNX Runtime, or estimated by FLOPs."""

from workbench.profiling.profiler import Measurement, measure_model, profile_model
from workbench.profiling.samples import SAMPLES, resolve_model, sample_model

__all__ = ["SAMPLES", "Measurement", "measure_model", "profile_model", "resolve_model", "sample_model"]
