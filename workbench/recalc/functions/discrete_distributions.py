"""Excel's discrete distributions, permutations, and PROB."""

from __future__ import annotations

import math

from workbench.recalc.functions import _special as special
from workbench.recalc.registry import ARRAY, LOGICAL, NUMBER, lane, opt, scalar
from workbench.recalc.values import CellErrorValue, Failure, Objects, Scalar

_NUM = CellErrorValue.NUM


def _demand(holds: bool, which: CellErrorValue = _NUM) -> None:
    if not holds:
        raise Failure(which)


@scalar("BINOM.DIST BINOMDIST", NUMBER, NUMBER, NUMBER, LOGICAL)
def binom_dist(successes: float, trials: float, p: float, cumulative: bool) -> Scalar:
    """0 ≤ successes ≤ trials, 0 ≤ p ≤ 1."""
    k, n = math.floor(successes), math.floor(trials)
    _demand(0 <= k <= n < 2**53 and 0 <= p <= 1)
    return binomial_cdf(k, n, p) if cumulative else special.binomial_density(k, n, p, 1 - p)


def binomial_cdf(k: int, n: int, p: float) -> float:
    """P(X ≤ k)."""
    if k >= n:
        return 1.0
    return special.beta_i(n - k, k + 1, 1 - p, p)


@scalar("BINOM.DIST.RANGE", NUMBER, NUMBER, NUMBER, opt(NUMBER))
def binom_dist_range(trials: float, p: float, low: float, high: float | None) -> Scalar:
    """P(low ≤ X ≤ high), or P(X = low)."""
    n, first = math.floor(trials), math.floor(low)
    last = first if high is None else math.floor(high)
    _demand(n >= 0 and 0 <= p <= 1 and 0 <= first <= last <= n)
    if last - first > 1000:
        return binomial_cdf(last, n, p) - (binomial_cdf(first - 1, n, p) if first else 0.0)
    return math.fsum(special.binomial_density(k, n, p, 1 - p) for k in range(first, last + 1))


@scalar("BINOM.INV CRITBINOM", NUMBER, NUMBER, NUMBER)
def binom_inv(trials: float, p: float, alpha: float) -> Scalar:
    """The least k where P(X ≤ k) ≥ alpha."""
    n = math.floor(trials)
    _demand(n >= 0 and 0 < p < 1 and 0 < alpha < 1)
    low, high = -1, n
    while high - low > 1:
        middle = (low + high) // 2
        if binomial_cdf(middle, n, p) >= alpha * (1 - 1e-15):
            high = middle
        else:
            low = middle
    return float(high)


@scalar("NEGBINOM.DIST", NUMBER, NUMBER, NUMBER, LOGICAL)
def negbinom_dist(failures: float, successes: float, p: float, cumulative: bool) -> Scalar:
    """Of the failures before so many successes."""
    f, s = math.floor(failures), math.floor(successes)
    _demand(f >= 0 and s >= 1 and 0 < p < 1)
    if cumulative:
        return special.beta_i(s, f + 1, p, 1 - p)
    return special.binomial_density(s, f + s, p, 1 - p) * s / (f + s)


@scalar("NEGBINOMDIST", NUMBER, NUMBER, NUMBER)
def negbinomdist(failures: float, successes: float, p: float) -> Scalar:
    """P(X = failures)."""
    return negbinom_dist(failures, successes, p, False)


@scalar("POISSON.DIST POISSON", NUMBER, NUMBER, LOGICAL)
def poisson_dist(x: float, mean: float, cumulative: bool) -> Scalar:
    """x ≥ 0, mean ≥ 0."""
    k = math.floor(x)
    _demand(x >= 0 and mean >= 0)
    return special.gamma_q(k + 1, mean) if cumulative else special.poisson_density(k, mean)


@scalar("HYPGEOM.DIST", NUMBER, NUMBER, NUMBER, NUMBER, LOGICAL)
def hypgeom_dist(found: float, drawn: float, marked: float, size: float, cumulative: bool) -> Scalar:
    """Marked ones among those drawn, without putting back."""
    k, n, m, all_ = (math.floor(v) for v in (found, drawn, marked, size))
    lowest = max(0, n - all_ + m)
    _demand(lowest <= k <= min(n, m) and 0 < n <= all_ and 0 < m <= all_)
    if not cumulative:
        return _hypergeometric(k, n, m, all_)
    if k * all_ <= n * m:
        return _hypergeometric_tail(k, lowest, -1, n, m, all_)
    return 1 - _hypergeometric_tail(k + 1, min(n, m), 1, n, m, all_)


def _hypergeometric_tail(start: int, end: int, step: int, n: int, m: int, size: int) -> float:
    """Sum of the probabilities from `start`, on the way down from the mode, to `end`."""
    if (end - start) * step < 0:
        return 0.0
    term = _hypergeometric(start, n, m, size)
    terms = [term]
    for i in range(start, end, step):
        if step > 0:
            term *= (m - i) * (n - i) / ((i + 1) * (size - m - n + i + 1))
        else:
            term *= i * (size - m - n + i) / ((m - i + 1) * (n - i + 1))
        terms.append(term)
        if term < terms[0] * 1e-20:
            break
    return math.fsum(terms)


def _hypergeometric(k: int, n: int, m: int, size: int) -> float:
    share = n / size
    top = special.binomial_density(k, m, share, 1 - share) * special.binomial_density(n - k, size - m, share, 1 - share)
    return top / special.binomial_density(n, size, share, 1 - share)


@scalar("HYPGEOMDIST", NUMBER, NUMBER, NUMBER, NUMBER)
def hypgeomdist(found: float, drawn: float, marked: float, size: float) -> Scalar:
    """P(X = found)."""
    return hypgeom_dist(found, drawn, marked, size, False)


@scalar("PERMUT", NUMBER, NUMBER)
def permut(number: float, chosen: float) -> Scalar:
    """Orders of so many chosen of a number."""
    n, k = math.floor(number), math.floor(chosen)
    _demand(n >= 0 and 0 <= k <= n)
    product = 1.0
    for factor in range(n - k + 1, n + 1):
        product *= factor
        _demand(math.isfinite(product))
    return product


@scalar("PERMUTATIONA", NUMBER, NUMBER)
def permutationa(number: float, chosen: float) -> Scalar:
    """Orders with repetition."""
    n, k = math.floor(number), math.floor(chosen)
    _demand(n >= 0 and k >= 0)
    return float(n) ** k


@lane("PROB", ARRAY, ARRAY, NUMBER, opt(NUMBER))
def prob(values: Objects, chances: Objects, low: float, high: float | None) -> Scalar:
    """P(low ≤ X ≤ high) of listed chances, which must sum to 1; #N/A when the lists differ in length."""
    upper = low if high is None else high
    x, p = list(values.reshape(-1)), list(chances.reshape(-1))
    for item in (*x, *p):
        if isinstance(item, CellErrorValue):
            return item
    if len(x) != len(p):
        return CellErrorValue.NA
    pairs = [(a, b) for a, b in zip(x, p, strict=True) if isinstance(a, float) and isinstance(b, float)]
    _demand(bool(pairs), CellErrorValue.DIV0)
    _demand(all(0 < b <= 1 for _, b in pairs))
    _demand(abs(math.fsum(b for _, b in pairs) - 1) < 1e-7)
    return math.fsum(b for a, b in pairs if low <= a <= upper)
