"""Makes expected.json beside this file: what SciPy says of samples that the tests read from there.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install scipy==1.17.1
    /tmp/venv/bin/python laboratory/stats/tests/data/make.py
"""

import json
import pathlib

import numpy as np
import scipy
from scipy import stats

rng = np.random.default_rng(20210407)


def rank_case(name, x, y):
    x, y = np.sort(x).astype(int), np.sort(y).astype(int)
    test = stats.mannwhitneyu(x, y, use_continuity=True, method="asymptotic")
    # The definition, pair by pair.
    wins = (x[:, None] > y[None, :]).mean()
    losses = (x[:, None] < y[None, :]).mean()
    return {
        "name": name,
        "first": x.tolist(),
        "second": y.tolist(),
        "u": float(test.statistic),
        "p": float(test.pvalue),
        "cliffs_delta": float(wins - losses),
    }


def block_case(name, rho, n):
    """Two series with a common part of autocorrelation rho; SciPy's paired bootstrap is the
    yardstick where rho is 0. The true standard error of the mean of the difference is known."""
    noise = rng.normal(0, 100, n)
    own = np.empty(n)
    own[0] = noise[0]
    for i in range(1, n):
        own[i] = rho * own[i - 1] + noise[i]
    common = rng.normal(0, 300, n)
    first = np.rint(50_000 + common + own).astype(int)
    second = np.rint(49_900 + common).astype(int)
    difference = first - second
    ci = stats.bootstrap(
        (difference,), np.mean, method="percentile", n_resamples=20_000, rng=rng
    ).confidence_interval
    return {
        "name": name,
        "first": first.tolist(),
        "second": second.tolist(),
        "difference": float(difference.mean()),
        "iid_low": float(ci.low),
        "iid_high": float(ci.high),
        # Of an AR(1) process with deviation 100 of its steps: 100 / (1 - rho) / sqrt(n).
        "true_error": 100 / (1 - rho) / n**0.5,
    }


p = [0.0001, 0.012, 0.02, 0.02, 0.3, 0.0051, 0.9]
order = np.argsort(p, kind="stable")
steps = [min(1.0, p[i] * (len(p) - rank)) for rank, i in enumerate(order)]
adjusted = np.empty(len(p))
adjusted[order] = np.maximum.accumulate(steps)

expected = {
    "scipy": scipy.__version__,
    "rank": [
        rank_case("no ties", rng.choice(10_000, 60, False), rng.choice(10_000, 45, False)),
        rank_case("many ties", rng.integers(50, 58, 200), rng.integers(51, 59, 150)),
        rank_case("the same", np.arange(100), np.arange(100)),
        rank_case("far apart", rng.integers(0, 100, 80), rng.integers(90, 190, 80)),
        rank_case("one against many", [500], rng.integers(0, 1000, 99)),
    ],
    "holm": {"p": p, "adjusted": adjusted.tolist()},
    "blocks": [block_case("independent", 0.0, 2000), block_case("dependent", 0.8, 4000)],
}
file = pathlib.Path(__file__).with_name("expected.json")
file.write_text(json.dumps(expected, separators=(",", ":")) + "\n")
