"""Magnitude sensitivity and what is derived from it, by hand on small models."""

from __future__ import annotations

from pathlib import Path

import loss_models
import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from workbench.errors import WorkbenchError
from workbench.loss import loss_profile
from workbench.loss.approximate import approximate_sensitivity
from workbench.loss.magnitude import magnitude_sensitivity, removed_magnitude, sensitivity_at
from workbench.loss.patterns import Pattern
from workbench.loss.rows import average_sensitivity, ranked

TENS = np.arange(1.0, 11.0, dtype=np.float32).reshape(2, 5)
"""Magnitudes 1 to 10."""


@pytest.mark.byhand
def test_sensitivity_is_the_mean_magnitude_between_two_levels() -> None:
    found = magnitude_sensitivity(-TENS, [0.0, 0.2, 0.5, 0.9])
    assert found.tolist() == [0.0, (1 + 2) / 2, (3 + 4 + 5) / 3, (6 + 7 + 8 + 9) / 4]


@pytest.mark.byhand
def test_levels_that_remove_nothing_more_take_the_next_weight() -> None:
    assert magnitude_sensitivity(TENS, [0.01, 0.02, 0.3]).tolist() == [1.0, 1.0, (2 + 3) / 2]


@pytest.mark.byhand
def test_block_sensitivity_is_the_mean_of_the_blocks_norms() -> None:
    blocks = np.repeat(np.array([[4.0, 1.0, 3.0, 2.0]], dtype=np.float32), 4, axis=0)
    blocks[0] += 2
    blocks[1] -= 2
    blocks[1] = np.abs(blocks[1])
    means = np.sort(np.abs(blocks).mean(axis=0))
    found = magnitude_sensitivity(blocks, [0.0, 0.25, 0.75], Pattern.BLOCK_4X1)
    assert found.tolist() == pytest.approx([0.0, means[0], means[1:3].mean()])


@pytest.mark.byhand
def test_three_layers_by_hand(tmp_path: Path) -> None:
    """Each layer's weights are 1/1600 … 1 times its scale, so a sensitivity is known in closed form.

    Between levels s - 0.01 and s lie the weights number 1600 (s - 0.01) + 1 to 1600 s, of mean
    (1600 s - 16/2 + 1/2) / 1600.
    """
    scales = {"first": 1.0, "small": 0.5, "large": 4.0}
    ramp = np.arange(1, 1601, dtype=np.float32) / 1600
    rng = np.random.default_rng(0)
    weights = {
        name: (scale * rng.permutation(ramp)).reshape(40, 40).astype(np.float32) for name, scale in scales.items()
    }
    path = loss_models.saved(loss_models.chain(weights), tmp_path)
    profile = loss_profile(path, pattern="unstructured", levels=[0.5, 0.9, 0.95])
    by_name = {row.weight_name: row for row in profile.layers}
    for name, scale in scales.items():
        for level in (0.5, 0.9, 0.95):
            expected = scale * (1600 * level - 7.5) / 1600
            assert by_name[name].sensitivity[level] == pytest.approx(expected, rel=1e-5)
        assert by_name[name].sensitivity[0.0] == 0.0
    assert by_name["first"].skipped == "first prunable layer"
    assert not by_name["small"].skipped
    value = (1600 * 0.95 - 7.5) / 1600
    assert average_sensitivity(profile) == pytest.approx((0.5 + 4.0) / 2 * value, rel=1e-5)
    assert [row.weight_name for row in ranked(profile)] == ["large", "small"]


def test_layers_of_planted_scales_rank_first_and_last(tmp_path: Path) -> None:
    scales = {"a": 1.0, "fragile": 8.0, "b": 1.2, "harmless": 0.001, "c": 0.9}
    path = loss_models.saved(loss_models.branches(scales), tmp_path)
    for pattern in Pattern:
        order = [row.weight_name for row in ranked(loss_profile(path, pattern=pattern))]
        assert order[0] == "fragile"
        assert order[-1] == "harmless"


@pytest.mark.property
@settings(max_examples=60, deadline=None)
@given(
    arrays(np.float32, st.tuples(st.sampled_from([4, 8, 12]), st.integers(1, 9)),
           elements=st.floats(-8, 8, width=32, allow_subnormal=False)),
    st.lists(st.floats(0, 0.99), min_size=1, max_size=6, unique=True),
)  # fmt: skip
def test_blocks_never_remove_less_magnitude_than_single_weights(weight: np.ndarray, levels: list[float]) -> None:
    levels = sorted(levels)
    single = removed_magnitude(weight, levels, Pattern.UNSTRUCTURED)
    blocks = removed_magnitude(weight, levels, Pattern.BLOCK_4X1)
    assert (blocks >= single - 1e-4).all()


@pytest.mark.property
@settings(max_examples=40, deadline=None)
@given(arrays(np.float32, (8, 25), elements=st.floats(-4, 4, width=32, allow_subnormal=False)))
def test_sensitivity_never_falls_with_the_level(weight: np.ndarray) -> None:
    values = magnitude_sensitivity(weight, [n / 20 for n in range(20)])
    assert (np.diff(values) >= -1e-6).all()


def test_a_level_off_the_grid_counts_from_one_percent_below() -> None:
    ramp = np.arange(1, 4001, dtype=np.float32).reshape(40, 100)
    found = sensitivity_at(ramp, [0.0, 0.97, 0.975, 0.98], Pattern.UNSTRUCTURED)
    assert found[0.975] == pytest.approx((3861 + 3900) / 2)
    assert found[0.98] == pytest.approx((3881 + 3920) / 2)


@pytest.mark.byhand
def test_approximation_by_hand() -> None:
    assert approximate_sensitivity(64, 32, 2048) == (64 + 32) / 2048 * 2
    assert approximate_sensitivity(32, 64, 2048) == (64 + 32) / 2048 * 2
    assert approximate_sensitivity(32, 64, 0) == 0.0


@pytest.mark.byhand
def test_a_model_without_its_weights_is_approximated(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    weights = {
        "w1": rng.standard_normal((16, 32)).astype(np.float32),
        "w2": rng.standard_normal((32, 64)).astype(np.float32),
    }
    path = tmp_path / "model.onnx"
    onnx.save(loss_models.chain(weights), path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    (tmp_path / "weights.bin").unlink()
    profile = loss_profile(path)
    assert profile.method == "approximated"
    assert any("weights.bin" in text for text in profile.warnings)
    values = {row.weight_name: row.sensitivity[0.95] for row in profile.layers}
    assert values == {"w1": (16 + 32) / 512 * 2, "w2": (32 + 64) / 2048 * 2}


def test_grouped_convolutions_and_the_first_layer_are_left_out_unless_asked_for(tmp_path: Path) -> None:
    path = loss_models.saved(loss_models.convolutions(), tmp_path)
    assert [row.skipped for row in loss_profile(path).layers] == ["first prunable layer", "grouped convolution", ""]
    every = loss_profile(path, include_first=True, include_grouped=True)
    assert [row.skipped for row in every.layers] == ["", "", ""]
    named = loss_profile(path, layers=["/c1"])
    assert [row.skipped for row in named.layers] == ["", "not among the chosen layers", "not among the chosen layers"]


def test_a_shared_weight_is_one_layer(tmp_path: Path) -> None:
    path = loss_models.saved(loss_models.shared_weight(), tmp_path)
    profile = loss_profile(path)
    assert [row.weight_name for row in profile.layers] == ["start", "twice", "table"]
    notes = {row.weight_name: row.note for row in profile.layers}
    assert notes["twice"] == "weight shared by 2 products, pruned in all"
    assert "also used by Gather" in notes["table"]


def test_a_weight_that_blocks_do_not_fit_says_so(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    weights = {
        "w1": rng.standard_normal((8, 8)).astype(np.float32),
        "w2": rng.standard_normal((8, 10)).astype(np.float32),
    }
    path = loss_models.saved(loss_models.chain(weights), tmp_path)
    row = loss_profile(path).layers[1]
    assert row.skipped == "10 output channels are not divisible by 4"
    assert not row.sensitivity
    with pytest.raises(WorkbenchError, match="choose --pattern unstructured"):
        loss_profile(path, layers=["/w2"])
    assert loss_profile(path, pattern="unstructured").layers[1].sensitivity[0.95] > 0


def test_a_quantized_weight_counts_from_its_zero_point(tmp_path: Path) -> None:
    model = loss_models.int8_linear()
    stored = {t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer}
    values = (stored["q"].astype(np.float32) - 3) * stored["scale"][:, None]
    profile = loss_profile(loss_models.saved(model, tmp_path), pattern="unstructured")
    assert profile.layers[1].shape == (12, 8)
    assert profile.layers[1].sensitivity == pytest.approx(sensitivity_at(values, profile.levels, Pattern.UNSTRUCTURED))


def test_half_weights_behind_cast_and_reshape(tmp_path: Path) -> None:
    model = loss_models.half_linear()
    flat = onnx.numpy_helper.to_array(next(t for t in model.graph.initializer if t.name == "flat"))
    values = flat.astype(np.float32).reshape(8, 12).T
    row = loss_profile(loss_models.saved(model, tmp_path)).layers[1]
    assert row.shape == (12, 8)
    assert row.sensitivity == pytest.approx(sensitivity_at(values, list(row.sensitivity), Pattern.BLOCK_4X1))


@pytest.mark.parametrize(
    ("settings_", "message"),
    [
        ({"levels": [1.0]}, "is no level"),
        ({"levels": [0.0]}, "no level above 0"),
        ({"pattern": "2:4"}, "no pattern '2:4'"),
        ({"layers": ["/w9"]}, "no prunable layer '/w9'"),
    ],
)
def test_bad_settings_are_one_sentence(tmp_path: Path, settings_: dict[str, object], message: str) -> None:
    path = loss_models.saved(loss_models.branches({"w1": 1.0}), tmp_path)
    with pytest.raises(WorkbenchError, match=message) as caught:
        loss_profile(path, **settings_)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_a_profile_tells_what_blocks_cost_over_single_weights(tmp_path: Path) -> None:
    path = loss_models.saved(loss_models.branches({"w1": 1.0, "w2": 2.0}), tmp_path)
    for row in loss_profile(path).layers:
        shares = {name: values for name, values in row.other_patterns.items() if "removed" in name}
        assert len(shares) == 2
        for level, value in shares["share of |w| removed, unstructured"].items():
            assert value <= shares["share of |w| removed, 4x1"][level] <= 1


def test_a_weight_with_nan_is_left_out(tmp_path: Path) -> None:
    model = loss_models.branches({"w1": 1.0, "w2": 2.0})
    for tensor in model.graph.initializer:
        if tensor.name == "w2":
            values = onnx.numpy_helper.to_array(tensor).copy()
            values[3, 3] = np.nan
            tensor.CopyFrom(onnx.numpy_helper.from_array(values, "w2"))
    profile = loss_profile(loss_models.saved(model, tmp_path))
    assert [row.skipped for row in profile.layers] == [
        "first prunable layer",
        "",
        "the weight holds NaN or infinite values",
    ]
    assert not profile.layers[2].sensitivity
