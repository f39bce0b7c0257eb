"""Element types by the sheet's short names."""

from __future__ import annotations

import onnx

_SHORT = {
    "FLOAT": "fp32",
    "FLOAT16": "fp16",
    "BFLOAT16": "bf16",
    "DOUBLE": "fp64",
    "INT8": "s8",
    "UINT8": "u8",
    "INT16": "s16",
    "UINT16": "u16",
    "INT32": "s32",
    "UINT32": "u32",
    "INT64": "s64",
    "UINT64": "u64",
    "BOOL": "bool",
    "STRING": "string",
    "INT4": "s4",
    "UINT4": "u4",
}
SHORT_NAMES: dict[int, str] = {
    number: _SHORT.get(name, name.lower()) for name, number in onnx.TensorProto.DataType.items()
}
"""ONNX element type → short name."""

RUNTIME_NAMES: dict[str, str] = {
    "float": "fp32",
    "float16": "fp16",
    "bfloat16": "bf16",
    "double": "fp64",
    "int8": "s8",
    "uint8": "u8",
    "int16": "s16",
    "uint16": "u16",
    "int32": "s32",
    "uint32": "u32",
    "int64": "s64",
    "uint64": "u64",
    "bool": "bool",
    "string": "string",
}
"""ONNX Runtime's name of an element type → short name."""

ITEM_BYTES: dict[str, float] = {
    "fp32": 4, "fp16": 2, "bf16": 2, "fp64": 8, "s8": 1, "u8": 1, "s16": 2, "u16": 2, "s32": 4, "u32": 4,
    "s64": 8, "u64": 8, "bool": 1, "s4": 0.5, "u4": 0.5,
}  # fmt: skip
"""Short name → bytes an element."""
