"""Special functions of probability, by series, continued fractions and quadrature: relative error about 1e-13.

Densities use Loader's saddle-point form (C. Loader, "Fast and accurate computation of binomial
probabilities", 2000), which keeps its figures where products of gamma functions would lose them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from workbench.recalc.values import NotEvaluable

_TINY = 1e-300
_HUGE = 1e8
_EPS = 2.0**-53
_LOG_ROOT_2PI = 0.5 * math.log(2 * math.pi)
_STIRLING = (1 / 12, 1 / 360, 1 / 1260, 1 / 1680, 1 / 1188, 691 / 360360)


def stirling_error(n: float) -> float:
    """log(Γ(n + 1)) minus Stirling's approximation of it, n > 0."""
    if n < 16:
        return math.lgamma(n + 1) - (n + 0.5) * math.log(n) + n - _LOG_ROOT_2PI
    square = n * n
    total = 0.0
    for index, coefficient in enumerate(reversed(_STIRLING)):
        total = coefficient - total / square if index else coefficient
    return total / n


def deviance(x: float, mean: float) -> float:
    """x·log(x / mean) + mean − x without cancellation."""
    if abs(x - mean) < 0.1 * (x + mean):
        v = (x - mean) / (x + mean)
        total = (x - mean) * v
        term = 2 * x * v
        v *= v
        for j in range(1, 1000):
            term *= v
            new = total + term / (2 * j + 1)
            if new == total:
                return new
            total = new
    return x * math.log(x / mean) + mean - x


def poisson_density(x: float, mean: float) -> float:
    """mean^x·e^(−mean) / Γ(x + 1), also for fractional x."""
    if mean == 0:
        return 1.0 if x == 0 else 0.0
    if x == 0:
        return math.exp(-mean)
    if x < 16:
        return math.exp(x * math.log(mean) - mean - math.lgamma(x + 1))
    return math.exp(-stirling_error(x) - deviance(x, mean)) / math.sqrt(2 * math.pi * x)


def binomial_density(x: float, n: float, p: float, q: float) -> float:
    """C(n, x)·p^x·q^(n − x), also for fractional x and n; q = 1 − p."""
    if p == 0:
        return 1.0 if x == 0 else 0.0
    if q == 0:
        return 1.0 if x == n else 0.0
    if x == 0:
        return math.exp(n * math.log1p(-p) if p < 0.5 else n * math.log(q))
    if x == n:
        return math.exp(n * math.log(p) if p < 0.5 else n * math.log1p(-q))
    if x < 0 or x > n:
        return 0.0
    exponent = stirling_error(n) - stirling_error(x) - stirling_error(n - x)
    exponent -= deviance(x, n * p) + deviance(n - x, n * q)
    return math.exp(exponent) * math.sqrt(n / (2 * math.pi * x * (n - x)))


def gamma_p(a: float, x: float) -> float:
    """Regularised lower incomplete gamma function P(a, x)."""
    if x <= 0:
        return 0.0
    return _gamma_series(a, x) if x < a + 1 else 1 - _gamma_fraction(a, x)


def gamma_q(a: float, x: float) -> float:
    """Regularised upper incomplete gamma function Q(a, x) = 1 − P(a, x)."""
    if x <= 0:
        return 1.0
    return 1 - _gamma_series(a, x) if x < a + 1 else _gamma_fraction(a, x)


def _gamma_series(a: float, x: float) -> float:
    if a > _HUGE:
        return _gamma_huge(a, x)
    total = term = 1.0
    n = a
    while True:
        n += 1
        term *= x / n
        total += term
        if term < total * _EPS:
            return total * poisson_density(a, x)


def _gamma_huge(a: float, x: float) -> float:
    """P(a, x) by the first terms of Temme's uniform expansion (DLMF 8.12), relative error about 1/a."""
    half_square = deviance(a, x) / a
    eta = math.copysign(math.sqrt(2 * half_square), x - a)
    first = -1 / 3 + eta / 12 if abs(eta) < 1e-3 else a / (x - a) - 1 / eta
    rest = math.exp(-a * half_square) / math.sqrt(2 * math.pi * a) * first
    return 0.5 * math.erfc(-eta * math.sqrt(a / 2)) - rest


def _gamma_fraction(a: float, x: float) -> float:
    if a > _HUGE:
        return 1 - _gamma_huge(a, x)
    b = x + 1 - a
    c = 1 / _TINY
    d = 1 / b if b else 1 / _TINY
    h = d
    for i in range(1, 1_000_000):
        an = -i * (i - a)
        b += 2
        d = an * d + b
        d = 1 / (d if abs(d) > _TINY else _TINY)
        c = b + an / c
        c = c if abs(c) > _TINY else _TINY
        h *= d * c
        if abs(d * c - 1) < 4 * _EPS:
            return h * a * poisson_density(a, x)
    raise NotEvaluable("asks for a distribution with parameters too large")


def gamma_density(x: float, shape: float) -> float:
    """Density of the gamma distribution of scale 1, x ≥ 0; Overflow where it is infinite."""
    if x == 0:
        if shape < 1:
            raise OverflowError
        return 1.0 if shape == 1 else 0.0
    if shape < 1:
        return poisson_density(shape, x) * shape / x
    return poisson_density(shape - 1, x)


def beta_i(a: float, b: float, x: float, y: float | None = None) -> float:
    """Regularised incomplete beta function I_x(a, b); `y` = 1 − x where that is known better."""
    y = 1 - x if y is None else y
    if x <= 0:
        return 0.0
    if y <= 0:
        return 1.0
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta_fraction(b, a, y, x)
    return _beta_fraction(a, b, x, y)


def _beta_fraction(a: float, b: float, x: float, y: float) -> float:
    front = binomial_density(a, a + b, x, y) * b / (a + b)
    c = 1.0
    d = 1 - (a + b) * x / (a + 1)
    d = 1 / (d if abs(d) > _TINY else _TINY)
    h = d
    for m in range(1, 1_000_000):
        for numerator in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 + numerator * d
            d = 1 / (d if abs(d) > _TINY else _TINY)
            c = 1 + numerator / c
            c = c if abs(c) > _TINY else _TINY
            h *= d * c
        if abs(d * c - 1) < 4 * _EPS:
            return front * h
    raise NotEvaluable("asks for a distribution with parameters too large")


def beta_density(x: float, a: float, b: float) -> float:
    """Density of the beta distribution on (0, 1)."""
    y = 1 - x
    if a < 1 and b < 1:
        return binomial_density(a, a + b, x, y) * a * b / ((a + b) * x * y)
    if a < 1:
        return binomial_density(a, a + b - 1, x, y) * a / x
    if b < 1:
        return binomial_density(a - 1, a + b - 1, x, y) * b / y
    return binomial_density(a - 1, a + b - 2, x, y) * (a + b - 1)


def normal_cdf(z: float) -> float:
    """Φ(z)."""
    return 0.5 * math.erfc(-z / math.sqrt(2))


def normal_density(z: float) -> float:
    """φ(z)."""
    return math.exp(-z * z / 2) / math.sqrt(2 * math.pi)


@lru_cache(maxsize=4096)
def normal_quantile(p: float) -> float:
    """Φ⁻¹(p), 0 < p < 1."""
    import statistics

    z = statistics.NormalDist().inv_cdf(p)
    for _ in range(2):
        density = normal_density(z)
        if density < 1e-290:
            break
        z -= (normal_cdf(z) - p) / density if p < 0.5 else (p - 1 + normal_cdf(-z)) / -density
    return z


def student_tail(t: float, freedom: float) -> float:
    """P(T > t) for t ≥ 0."""
    if freedom > 1e14:
        return normal_cdf(-t)
    square = t * t
    x, y = freedom / (freedom + square), square / (freedom + square)
    return 0.5 * beta_i(freedom / 2, 0.5, x, y)


def student_cdf(t: float, freedom: float) -> float:
    """P(T ≤ t)."""
    return 1 - student_tail(t, freedom) if t > 0 else student_tail(-t, freedom)


def student_density(t: float, freedom: float) -> float:
    """Density of Student's t."""
    half = freedom / 2
    logs = stirling_error(half + 0.5) - stirling_error(half) - deviance(half, half + 0.5)
    square = t * t / freedom
    return math.exp(logs - half * math.log1p(square)) / math.sqrt(2 * math.pi * (1 + square))


def f_parts(x: float, d1: float, d2: float) -> tuple[float, float]:
    """(I argument, 1 − I argument) of the F distribution."""
    scale = d1 * x + d2
    return d1 * x / scale, d2 / scale


def f_cdf(x: float, d1: float, d2: float) -> float:
    """P(F ≤ x)."""
    u, v = f_parts(x, d1, d2)
    return beta_i(d1 / 2, d2 / 2, u, v)


def f_tail(x: float, d1: float, d2: float) -> float:
    """P(F > x)."""
    u, v = f_parts(x, d1, d2)
    return beta_i(d2 / 2, d1 / 2, v, u)


def f_density(x: float, d1: float, d2: float) -> float:
    """Density of F, x > 0."""
    p, q = f_parts(x, d1, d2)
    if d1 >= 2:
        return d1 * q / 2 * binomial_density((d1 - 2) / 2, (d1 + d2 - 2) / 2, p, q)
    return d1 * d1 * q / (2 * p * (d1 + d2)) * binomial_density(d1 / 2, (d1 + d2) / 2, p, q)


Curve = Callable[[float], float]


def quantile(below: Curve, above: Curve, p: float, q: float, upper: float = math.inf) -> float:
    """x in (0, upper) where below(x) = p, or above(x) = q = 1 − p: the smaller of the two decides.

    Bisection on the bit pattern of x: about 62 steps whatever the scale, exact to the last bit or two
    that the distribution function itself gives.
    """

    def too_low(x: float) -> bool:
        return below(x) < p if p <= q else above(x) > q

    low = 0
    high = _bits(upper if math.isfinite(upper) else 1e308)
    while high - low > 1:
        middle = (low + high) // 2
        if too_low(_from_bits(middle)):
            low = middle
        else:
            high = middle
    return _from_bits(high)


def _bits(x: float) -> int:
    return int(np.float64(x).view(np.int64))


def _from_bits(bits: int) -> float:
    return float(np.int64(bits).view(np.float64))


def gamma_quantile(p: float, q: float, shape: float) -> float:
    """x where P(shape, x) = p."""
    return quantile(lambda x: gamma_p(shape, x), lambda x: gamma_q(shape, x), p, q)


def beta_quantile(p: float, q: float, a: float, b: float) -> float:
    """x where I_x(a, b) = p; through the complement where x would be close to 1."""
    if beta_i(a, b, 0.5) < p:
        x = quantile(lambda x: beta_i(b, a, x), lambda x: beta_i(a, b, 1 - x, x), q, p, 1.0)
        return 1 - x
    return quantile(lambda x: beta_i(a, b, x), lambda x: beta_i(b, a, 1 - x, x), p, q, 1.0)


def f_quantile(p: float, q: float, d1: float, d2: float) -> float:
    """x where P(F ≤ x) = p."""
    return quantile(lambda x: f_cdf(x, d1, d2), lambda x: f_tail(x, d1, d2), p, q)


def student_quantile(p: float, freedom: float) -> float:
    """t where P(T ≤ t) = p."""
    if p == 0.5:
        return 0.0
    if freedom > 1e14:
        return normal_quantile(p)
    tail = min(p, 1 - p)

    def inside(t: float) -> float:
        square = t * t
        return beta_i(0.5, freedom / 2, square / (freedom + square), freedom / (freedom + square))

    t = quantile(inside, lambda t: 2 * student_tail(t, freedom), 1 - 2 * tail, 2 * tail)
    return t if p > 0.5 else -t


def bessel_j(order: int, x: float) -> float:
    """J of integer order ≥ 0."""
    if x < 0:
        return -bessel_j(order, -x) if order % 2 else bessel_j(order, -x)
    if x * x / 4 <= 5 * (order + 1):
        return _bessel_series(order, x, -1.0)
    if x > _FAR:
        if order > x:
            return _downwards(order, x) * _hankel(0, x)[0]
        return _upwards(order, x, _hankel(0, x)[0], _hankel(1, x)[0])
    count = 2 * int(x + order + 40)
    angle = np.arange(count) * (2 * math.pi / count)
    return float(np.cos(order * angle - x * np.sin(angle)).mean())


def bessel_i(order: int, x: float) -> float:
    """Modified I of integer order ≥ 0."""
    if x < 0:
        return -bessel_i(order, -x) if order % 2 else bessel_i(order, -x)
    return _bessel_series(order, x, 1.0)


def _bessel_series(order: int, x: float, sign: float) -> float:
    if x == 0:
        return 1.0 if order == 0 else 0.0
    term = math.exp(order * math.log(x / 2) - math.lgamma(order + 1))
    total, quarter = term, sign * x * x / 4
    k = 0
    while abs(term) > abs(total) * _EPS and math.isfinite(total):
        k += 1
        term *= quarter / (k * (k + order))
        total += term
    return total


def bessel_k(order: int, x: float) -> float:
    """Modified K of integer order ≥ 0, x > 0: the trapezoidal rule on e^(−x·cosh t)·cosh(n·t)."""
    step = 1 / 64
    last = max(16.0, math.log((1600 + 80 * order) / x) + 2)
    t = np.arange(1, int(64 * last)) * step
    with np.errstate(over="ignore", under="ignore"):
        logs = -x * np.cosh(t) + np.logaddexp(order * t, -order * t) - math.log(2)
        return float(step * (math.exp(-x) / 2 + np.exp(logs).sum()))


def bessel_y(order: int, x: float) -> float:
    """Y of integer order ≥ 0, x > 0, by recurrence upwards from orders 0 and 1."""
    if x > _FAR:
        return _upwards(order, x, _hankel(0, x)[1], _hankel(1, x)[1])
    return _upwards(order, x, _bessel_y01(0, x), _bessel_y01(1, x))


_FAR = 200.0
"""From here on Hankel's expansion is exact to the last digits for orders 0 and 1."""


def _upwards(order: int, x: float, low: float, high: float) -> float:
    """The solution of Bessel's recurrence at `order` from its values at 0 and 1."""
    if order == 0:
        return low
    if order > 10_000_000:
        raise NotEvaluable("asks for a Bessel function of too high an order")
    for n in range(1, order):
        low, high = high, 2 * n / x * high - low
        if math.isinf(high):
            raise OverflowError
    return high


def _downwards(order: int, x: float) -> float:
    """J(order) / J(0) for order > x by Miller's recurrence from far above."""
    if order > 10_000_000:
        raise NotEvaluable("asks for a Bessel function of too high an order")
    start = order + 50 + int(12 * order ** (1 / 3) + math.sqrt(80 * order) / 4)
    high, low, wanted = 0.0, 1e-280, 0.0
    for n in range(start, 0, -1):
        high, low = low, 2 * n / x * low - high
        if n - 1 == order:
            wanted = low
        if abs(low) > 1e200:
            high, low, wanted = high * 1e-200, low * 1e-200, wanted * 1e-200
    return wanted / low


def _hankel(order: int, x: float) -> tuple[float, float]:
    """(J, Y) for large x: Hankel's asymptotic expansion."""
    square = 4 * order * order
    p = q = 0.0
    term = 1.0
    for k in range(40):
        if k % 2:
            q += term if k % 4 == 1 else -term
        else:
            p += term if k % 4 == 0 else -term
        step = (square - (2 * k + 1) ** 2) / ((k + 1) * 8 * x)
        if abs(term * step) < _EPS * 1e-2:
            break
        term *= step
    shift = (order / 2 + 0.25) * math.pi
    cosine = math.cos(x) * math.cos(shift) + math.sin(x) * math.sin(shift)
    sine = math.sin(x) * math.cos(shift) - math.cos(x) * math.sin(shift)
    scale = math.sqrt(2 / (math.pi * x))
    return scale * (p * cosine - q * sine), scale * (p * sine + q * cosine)


def _bessel_y01(order: int, x: float) -> float:
    turning = _panels(lambda a: np.sin(x * np.sin(a) - order * a), 0.0, math.pi, 8 + int(x))
    last = math.asinh(745 / x)
    sign = (-1) ** order

    def decaying(t: np.ndarray) -> np.ndarray:
        return np.asarray((np.exp(order * t) + sign * np.exp(-order * t)) * np.exp(-x * np.sinh(t)))

    return (turning - _panels(decaying, 0.0, last, 64)) / math.pi


def _panels(curve: Callable[[np.ndarray], np.ndarray], low: float, high: float, count: int) -> float:
    nodes, weights = _gauss_nodes()
    edges = np.linspace(low, high, count + 1)
    half = (edges[1] - edges[0]) / 2
    points = (edges[:-1] + half)[:, None] + half * nodes
    return float((curve(points) * weights).sum() * half)


@lru_cache(maxsize=1)
def _gauss_nodes() -> tuple[np.ndarray, np.ndarray]:
    nodes, weights = np.polynomial.legendre.leggauss(20)
    return nodes, weights
