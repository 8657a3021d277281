"""Makes expected_ab.json beside this file: what SciPy and statsmodels say of two samples.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install scipy==1.17.1 statsmodels==0.15.0
    /tmp/venv/bin/python laboratory/stats/tests/data/make_ab.py
"""

import json
import pathlib

import numpy as np
import scipy
import statsmodels
from scipy import stats
from statsmodels.stats.power import TTestIndPower

rng = np.random.default_rng(20160901)


def wakeups(n):
    return np.rint(rng.normal(8000, 1500, n) + rng.exponential(2000, n)).astype(int)


def rank_case(name, x, y):
    """(value, how often) instead of values."""
    test = stats.mannwhitneyu(x, y, use_continuity=True, method="asymptotic")
    counted = [np.stack(np.unique(side, return_counts=True), 1).tolist() for side in (x, y)]
    return {
        "name": name,
        "first": counted[0],
        "second": counted[1],
        "u": float(test.statistic),
        "p": float(test.pvalue),
    }


def values_case(name, x, y):
    """Single values: Welch's test, Mood's median test, the quantiles and their own intervals."""
    mood = stats.median_test(x, y, correction=True)
    welch = stats.ttest_ind(y, x, equal_var=False)
    interval = welch.confidence_interval(0.95)
    quantiles = []
    for q in (0.25, 0.5, 0.9):
        own = stats.quantile_test(x, p=q).confidence_interval(0.95)
        at = [float(np.quantile(side, q, method="inverted_cdf")) for side in (x, y)]
        ranks = [int((x <= end).sum()) for end in (own.low, own.high)]
        quantiles.append({"q": q, "a": at[0], "b": at[1], "ranks": ranks})
    n = len(x) + len(y)
    return {
        "name": name,
        "a": x.tolist(),
        "b": y.tolist(),
        "mean_p": float(welch.pvalue),
        "mean_low": float(interval.low),
        "mean_high": float(interval.high),
        # Of a hypergeometric variable, whose variance is larger by N / (N - 1) than Pearson's.
        "median_p": float(stats.chi2.sf(mood.statistic * (n - 1) / n, 1)),
        "quantiles": quantiles,
    }


def block_case(name, blocks_a, blocks_b, length, shift, is_paired):
    """Blocks with levels of their own, of equal length, so that a side's mean is its blocks' mean."""
    levels = rng.normal(0, 400, max(blocks_a, blocks_b))
    def own(i):
        return levels[i] if is_paired else rng.normal(0, 400)
    a = np.array([wakeups(length) + int(own(i)) for i in range(blocks_a)])
    b = np.array([wakeups(length) + int(own(i)) + shift for i in range(blocks_b)])

    def t(x, y, axis):
        if is_paired:
            d = y - x
            return d.mean(axis) / (d.std(axis, ddof=1) / d.shape[axis] ** 0.5)
        errors = x.var(axis, ddof=1) / x.shape[axis] + y.var(axis, ddof=1) / y.shape[axis]
        return (y.mean(axis) - x.mean(axis)) / errors**0.5

    times = 50_000
    permuted = stats.permutation_test(
        (a.mean(1), b.mean(1)),
        lambda x, y, axis: np.abs(t(x, y, axis)),
        vectorized=True,
        n_resamples=times,
        alternative="greater",
        permutation_type="samples" if is_paired else "independent",
        rng=rng,
    )

    def bootstrap(statistic):
        picked = (np.arange(blocks_a), np.arange(blocks_b))
        ci = stats.bootstrap(
            picked,
            lambda i, j: statistic(b[j]) - statistic(a[i]),
            vectorized=False,
            paired=is_paired,
            method="percentile",
            n_resamples=4000,
            rng=rng,
        ).confidence_interval
        return [float(ci.low), float(ci.high)]

    return {
        "name": name,
        "is_paired": is_paired,
        "length": length,
        "a": a.flatten().tolist(),
        "b": b.flatten().tolist(),
        "p": float(permuted.pvalue),
        "times": times,
        "mean": bootstrap(np.mean),
        "p50": bootstrap(np.median),
        "p90": bootstrap(lambda x: np.quantile(x, 0.9)),
    }


def power_case(shift, alpha, power):
    pilot = wakeups(2000)
    n = TTestIndPower().solve_power(effect_size=shift / pilot.std(), alpha=alpha, power=power)
    return {"pilot": pilot.tolist(), "shift": shift, "alpha": alpha, "power": power, "n": float(n)}


expected = {
    "scipy": scipy.__version__,
    "statsmodels": statsmodels.__version__,
    "rank": [
        rank_case("bins of 1 µs", wakeups(5000) // 1000, wakeups(4000) // 1000),
        rank_case("few ties", wakeups(900), wakeups(500) + 100),
        rank_case("two values", rng.integers(0, 2, 10_000), rng.integers(0, 2, 20_000)),
    ],
    "values": [
        values_case("alike", rng.permutation(20_000)[:700], rng.permutation(20_000)[:500]),
        values_case("shifted", rng.permutation(20_000)[:300], rng.permutation(20_000)[:300] + 900),
    ],
    "blocks": [
        block_case("alike", 60, 60, 30, 0, False),
        block_case("shifted", 50, 80, 30, 160, False),
        block_case("in pairs", 60, 60, 30, 70, True),
    ],
    "power": [power_case(100, 0.05, 0.8), power_case(600, 0.05, 0.8), power_case(60, 0.01, 0.9)],
}
file = pathlib.Path(__file__).with_name("expected_ab.json")
file.write_text(json.dumps(expected, separators=(",", ":")) + "\n")
