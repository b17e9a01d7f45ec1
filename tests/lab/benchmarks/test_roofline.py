import numpy as np
import pytest

from lab.benchmarks import gpu
from lab.benchmarks.gpu import Placed, roofline


def test_programs_hang_below_the_roof_of_memory_and_of_arithmetic() -> None:
    slow, quick = Placed("slow", 2.0, 1e12), Placed("quick", 100.0, 30e12)
    figure = roofline("a card", 60e12, 4e12, [slow, quick])
    (axes,) = figure.axes
    roof, *marks = axes.lines
    x, y = (np.asarray(values, dtype=np.float64) for values in roof.get_data())
    np.testing.assert_allclose(y, np.minimum(60.0, 4.0 * x))
    assert x[0] < 2.0 < 60 / 4 < 100.0 < x[-1]
    legend = axes.get_legend()
    assert legend is not None
    said = [text.get_text() for text in legend.get_texts()]
    assert said == ["the card at best: 100 %", "slow: 12 %", "quick: 50 %"]
    places = [[float(np.asarray(values).item()) for values in mark.get_data()] for mark in marks]
    assert places == [[2.0, 1.0], [100.0, 30.0]]


def test_a_benchmark_s_numbers_are_placed() -> None:
    fleets = [gpu.LargeFleet(10, 1.0, 0.1, 1.0), gpu.LargeFleet(1000, 4.0, 3.0, 2.0)]
    ways = [gpu.Way("fast engine", 5.0, ""), gpu.Way("gpu engine", 0.5, "")]
    whole, fleet = gpu.on_the_roofline(ways, fleets, 8e12)
    # 320,000 samples, 200 features, 20 operations each; 28 bytes for each client and tick.
    assert whole[0] == "whole runs"
    assert whole[1:] == pytest.approx((1.28e9 / (28 * 256 * 2000), 2.56e12))
    # The largest fleet reads and writes its models with three quarters of the bandwidth.
    assert fleet == ("a fleet of 1,000 clients", 2.5, 0.75 * 8e12 * 2.5)
    assert gpu.on_the_roofline([], [], 8e12) == []
