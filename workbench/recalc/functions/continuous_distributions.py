"""Excel's continuous distributions: densities, distribution functions, inverses; the older names beside the newer."""

from __future__ import annotations

import math

from workbench.recalc.functions import _special as special
from workbench.recalc.registry import LOGICAL, NUMBER, opt, scalar
from workbench.recalc.values import CellErrorValue, Failure, Scalar

_NUM = CellErrorValue.NUM
_DIV0 = CellErrorValue.DIV0
_LARGEST_FREEDOM = 1e10


def _demand(holds: bool, which: CellErrorValue = _NUM) -> None:
    if not holds:
        raise Failure(which)


def _freedom(degrees: float) -> int:
    """Degrees of freedom, cut to a whole number from 1 to 10^10."""
    whole = math.trunc(degrees)
    _demand(1 <= whole <= _LARGEST_FREEDOM)
    return whole


def _t_freedom(degrees: float) -> int:
    """Degrees of freedom of Student's t: a whole number from 1."""
    whole = math.trunc(degrees)
    _demand(whole >= 1)
    return whole


# --- normal


@scalar("NORM.DIST NORMDIST", NUMBER, NUMBER, NUMBER, LOGICAL)
def norm_dist(x: float, mean: float, deviation: float, cumulative: bool) -> Scalar:
    """#NUM! unless the deviation is positive."""
    _demand(deviation > 0)
    z = (x - mean) / deviation
    return special.normal_cdf(z) if cumulative else special.normal_density(z) / deviation


@scalar("NORM.INV NORMINV", NUMBER, NUMBER, NUMBER)
def norm_inv(p: float, mean: float, deviation: float) -> Scalar:
    """0 < p < 1."""
    _demand(0 < p < 1 and deviation > 0)
    return mean + deviation * special.normal_quantile(p)


@scalar("NORM.S.DIST", NUMBER, LOGICAL)
def norm_s_dist(z: float, cumulative: bool) -> Scalar:
    """Mean 0, deviation 1."""
    return special.normal_cdf(z) if cumulative else special.normal_density(z)


@scalar("NORMSDIST", NUMBER)
def normsdist(z: float) -> Scalar:
    """Φ(z)."""
    return special.normal_cdf(z)


@scalar("NORM.S.INV NORMSINV", NUMBER)
def norm_s_inv(p: float) -> Scalar:
    """0 < p < 1."""
    _demand(0 < p < 1)
    return special.normal_quantile(p)


@scalar("GAUSS", NUMBER)
def gauss(z: float) -> Scalar:
    """Φ(z) − 0.5."""
    return math.erf(z / math.sqrt(2)) / 2


@scalar("PHI", NUMBER)
def phi(z: float) -> Scalar:
    """φ(z)."""
    return special.normal_density(z)


@scalar("STANDARDIZE", NUMBER, NUMBER, NUMBER)
def standardize(x: float, mean: float, deviation: float) -> Scalar:
    """(x − mean) / deviation."""
    _demand(deviation > 0)
    return (x - mean) / deviation


@scalar("FISHER", NUMBER)
def fisher(x: float) -> Scalar:
    """Fisher's z of a correlation, −1 < x < 1."""
    _demand(-1 < x < 1)
    return math.atanh(x)


@scalar("FISHERINV", NUMBER)
def fisherinv(z: float) -> Scalar:
    """The correlation of Fisher's z."""
    return math.tanh(z)


@scalar("LOGNORM.DIST", NUMBER, NUMBER, NUMBER, LOGICAL)
def lognorm_dist(x: float, mean: float, deviation: float, cumulative: bool) -> Scalar:
    """Mean and deviation are those of ln x."""
    _demand(x > 0 and deviation > 0)
    z = (math.log(x) - mean) / deviation
    return special.normal_cdf(z) if cumulative else special.normal_density(z) / (x * deviation)


@scalar("LOGNORMDIST", NUMBER, NUMBER, NUMBER)
def lognormdist(x: float, mean: float, deviation: float) -> Scalar:
    """P(X ≤ x)."""
    return lognorm_dist(x, mean, deviation, True)


@scalar("LOGNORM.INV LOGINV", NUMBER, NUMBER, NUMBER)
def lognorm_inv(p: float, mean: float, deviation: float) -> Scalar:
    """0 < p < 1."""
    _demand(0 < p < 1 and deviation > 0)
    return math.exp(mean + deviation * special.normal_quantile(p))


@scalar("CONFIDENCE CONFIDENCE.NORM", NUMBER, NUMBER, NUMBER)
def confidence_norm(alpha: float, deviation: float, size: float) -> Scalar:
    """Half the width of the confidence interval of a mean whose deviation is known."""
    n = math.trunc(size)
    _demand(0 < alpha < 1 and deviation > 0 and n >= 1)
    return -special.normal_quantile(alpha / 2) * deviation / math.sqrt(n)


@scalar("CONFIDENCE.T", NUMBER, NUMBER, NUMBER)
def confidence_t(alpha: float, deviation: float, size: float) -> Scalar:
    """Half the width of the confidence interval of a mean, by Student's t; #DIV/0! for a sample of 1."""
    n = math.trunc(size)
    _demand(0 < alpha < 1 and deviation > 0 and n >= 1)
    _demand(n > 1, _DIV0)
    return -special.student_quantile(alpha / 2, n - 1) * deviation / math.sqrt(n)


# --- exponential, Weibull, gamma, beta


@scalar("EXPON.DIST EXPONDIST", NUMBER, NUMBER, LOGICAL)
def expon_dist(x: float, rate: float, cumulative: bool) -> Scalar:
    """x ≥ 0, rate > 0."""
    _demand(x >= 0 and rate > 0)
    return -math.expm1(-rate * x) if cumulative else rate * math.exp(-rate * x)


@scalar("WEIBULL.DIST WEIBULL", NUMBER, NUMBER, NUMBER, LOGICAL)
def weibull_dist(x: float, shape: float, scale: float, cumulative: bool) -> Scalar:
    """x ≥ 0, shape and scale > 0."""
    _demand(x >= 0 and shape > 0 and scale > 0)
    ratio = x / scale
    if cumulative:
        return -math.expm1(-(ratio**shape)) if ratio <= 1 or shape * math.log(ratio) < 300 else 1.0
    _demand(x > 0 or shape >= 1)
    density: float = shape / scale * ratio ** (shape - 1) * math.exp(-(ratio**shape))
    return density


@scalar("GAMMA", NUMBER)
def gamma(x: float) -> Scalar:
    """Γ(x); #NUM! at 0 and the negative whole numbers."""
    _demand(x > 0 or x != math.floor(x))
    return math.gamma(x)


@scalar("GAMMALN GAMMALN.PRECISE", NUMBER)
def gammaln(x: float) -> Scalar:
    """ln Γ(x), x > 0."""
    _demand(x > 0)
    return math.lgamma(x)


@scalar("GAMMA.DIST GAMMADIST", NUMBER, NUMBER, NUMBER, LOGICAL)
def gamma_dist(x: float, shape: float, scale: float, cumulative: bool) -> Scalar:
    """x ≥ 0, shape and scale > 0."""
    _demand(x >= 0 and shape > 0 and scale > 0)
    return special.gamma_p(shape, x / scale) if cumulative else special.gamma_density(x / scale, shape) / scale


@scalar("GAMMA.INV GAMMAINV", NUMBER, NUMBER, NUMBER)
def gamma_inv(p: float, shape: float, scale: float) -> Scalar:
    """0 ≤ p < 1."""
    _demand(0 <= p < 1 and shape > 0 and scale > 0)
    return special.gamma_quantile(p, 1 - p, shape) * scale if p else 0.0


@scalar("BETA.DIST", NUMBER, NUMBER, NUMBER, LOGICAL, opt(NUMBER, 0.0), opt(NUMBER, 1.0))
def beta_dist(x: float, a: float, b: float, cumulative: bool, low: float, high: float) -> Scalar:
    """On low to high."""
    _demand(a > 0 and b > 0 and low <= x <= high and low != high)
    width = high - low
    share, rest = (x - low) / width, (high - x) / width
    if cumulative:
        return special.beta_i(a, b, share, rest)
    if share == 0 or rest == 0:
        edge = a if share == 0 else b
        _demand(edge >= 1)
        return (b if share == 0 else a) / width if edge == 1 else 0.0
    return special.beta_density(share, a, b) / width


@scalar("BETADIST", NUMBER, NUMBER, NUMBER, opt(NUMBER, 0.0), opt(NUMBER, 1.0))
def betadist(x: float, a: float, b: float, low: float, high: float) -> Scalar:
    """P(X ≤ x) on low to high."""
    return beta_dist(x, a, b, True, low, high)


@scalar("BETA.INV BETAINV", NUMBER, NUMBER, NUMBER, opt(NUMBER, 0.0), opt(NUMBER, 1.0))
def beta_inv(p: float, a: float, b: float, low: float, high: float) -> Scalar:
    """0 < p < 1, on low to high."""
    _demand(0 < p < 1 and a > 0 and b > 0 and low < high)
    return low + (high - low) * special.beta_quantile(p, 1 - p, a, b)


# --- chi-squared, Student's t, F


@scalar("CHISQ.DIST", NUMBER, NUMBER, LOGICAL)
def chisq_dist(x: float, degrees: float, cumulative: bool) -> Scalar:
    """x ≥ 0."""
    k = _freedom(degrees)
    _demand(x >= 0)
    return special.gamma_p(k / 2, x / 2) if cumulative else special.gamma_density(x / 2, k / 2) / 2


@scalar("CHISQ.DIST.RT CHIDIST", NUMBER, NUMBER)
def chisq_dist_rt(x: float, degrees: float) -> Scalar:
    """P(X > x)."""
    k = _freedom(degrees)
    _demand(x >= 0)
    return special.gamma_q(k / 2, x / 2)


@scalar("CHISQ.INV", NUMBER, NUMBER)
def chisq_inv(p: float, degrees: float) -> Scalar:
    """0 ≤ p < 1."""
    k = _freedom(degrees)
    _demand(0 <= p < 1)
    return 2 * special.gamma_quantile(p, 1 - p, k / 2) if p else 0.0


@scalar("CHISQ.INV.RT CHIINV", NUMBER, NUMBER)
def chisq_inv_rt(p: float, degrees: float) -> Scalar:
    """0 < p ≤ 1."""
    k = _freedom(degrees)
    _demand(0 < p <= 1)
    return 2 * special.gamma_quantile(1 - p, p, k / 2) if p < 1 else 0.0


@scalar("T.DIST", NUMBER, NUMBER, LOGICAL)
def t_dist(t: float, degrees: float, cumulative: bool) -> Scalar:
    """P(T ≤ t), or the density."""
    k = _t_freedom(degrees)
    return special.student_cdf(t, k) if cumulative else special.student_density(t, k)


@scalar("T.DIST.RT", NUMBER, NUMBER)
def t_dist_rt(t: float, degrees: float) -> Scalar:
    """P(T > t)."""
    return special.student_cdf(-t, _t_freedom(degrees))


@scalar("T.DIST.2T", NUMBER, NUMBER)
def t_dist_2t(t: float, degrees: float) -> Scalar:
    """P(|T| > t), t ≥ 0."""
    k = _t_freedom(degrees)
    _demand(t >= 0)
    return 2 * special.student_tail(t, k)


@scalar("TDIST", NUMBER, NUMBER, NUMBER)
def tdist(t: float, degrees: float, tails: float) -> Scalar:
    """P(T > t), or P(|T| > t) for two tails; t ≥ 0."""
    k, sides = _t_freedom(degrees), math.trunc(tails)
    _demand(t >= 0 and sides in (1, 2))
    return sides * special.student_tail(t, k)


@scalar("T.INV", NUMBER, NUMBER)
def t_inv(p: float, degrees: float) -> Scalar:
    """0 < p < 1."""
    k = _t_freedom(degrees)
    _demand(0 < p < 1)
    return special.student_quantile(p, k)


@scalar("T.INV.2T TINV", NUMBER, NUMBER)
def t_inv_2t(p: float, degrees: float) -> Scalar:
    """t where P(|T| > t) = p, 0 < p ≤ 1."""
    k = _t_freedom(degrees)
    _demand(0 < p <= 1)
    return -special.student_quantile(p / 2, k)


@scalar("F.DIST", NUMBER, NUMBER, NUMBER, LOGICAL)
def f_dist(x: float, degrees1: float, degrees2: float, cumulative: bool) -> Scalar:
    """x ≥ 0."""
    d1, d2 = _freedom(degrees1), _freedom(degrees2)
    _demand(x >= 0)
    if cumulative:
        return special.f_cdf(x, d1, d2)
    if x == 0:
        _demand(d1 >= 2)
        return 1.0 if d1 == 2 else 0.0
    return special.f_density(x, d1, d2)


@scalar("F.DIST.RT FDIST", NUMBER, NUMBER, NUMBER)
def f_dist_rt(x: float, degrees1: float, degrees2: float) -> Scalar:
    """P(F > x)."""
    d1, d2 = _freedom(degrees1), _freedom(degrees2)
    _demand(x >= 0)
    return special.f_tail(x, d1, d2)


@scalar("F.INV", NUMBER, NUMBER, NUMBER)
def f_inv(p: float, degrees1: float, degrees2: float) -> Scalar:
    """0 ≤ p < 1."""
    d1, d2 = _freedom(degrees1), _freedom(degrees2)
    _demand(0 <= p < 1)
    return special.f_quantile(p, 1 - p, d1, d2) if p else 0.0


@scalar("F.INV.RT FINV", NUMBER, NUMBER, NUMBER)
def f_inv_rt(p: float, degrees1: float, degrees2: float) -> Scalar:
    """0 < p ≤ 1."""
    d1, d2 = _freedom(degrees1), _freedom(degrees2)
    _demand(0 < p <= 1)
    return special.f_quantile(1 - p, p, d1, d2) if p < 1 else 0.0
