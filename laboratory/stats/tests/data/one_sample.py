"""Makes one_sample.json beside this file: what SciPy says of one sample, which the tests read from
there. Samples are whole numbers, as Rust reads them.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install scipy==1.17.1
    /tmp/venv/bin/python laboratory/stats/tests/data/one_sample.py
"""

import json
import pathlib

import numpy as np
import scipy
from scipy import stats

rng = np.random.default_rng(19890101)


def ranks(n, q):
    """The definition: the highest rank below the quantile, and the lowest above it, with 97.5 %."""
    below = stats.binom(n, q)
    low = int(below.ppf(0.025))
    high = int(below.ppf(0.975)) + 1
    return {
        "n": n,
        "q": q,
        "low": low if low >= 1 else None,
        "high": high if high <= n else None,
    }


def gpd(shape, scale, x):
    frozen = stats.genpareto(shape, scale=scale)
    return {
        "shape": shape,
        "scale": scale,
        "x": x,
        "ln_survival": float(frozen.logsf(x)),
        "surpassed_once_in_a_million": float(frozen.isf(1e-6)),
    }


def fit(name, values, width):
    """Excesses over 0 in cells of `width`; the likelihood is that of the cells."""
    values = np.floor(values / width).astype(int) * width
    cells = stats.CensoredData(interval=np.column_stack([values, values + width]).astype(float))
    shape, _, scale = stats.genpareto.fit(cells, 0.1, floc=0, scale=float(values.mean() + width / 2))
    frozen = stats.genpareto(shape, scale=scale)
    ln_likelihood = np.log(frozen.cdf(values + width) - frozen.cdf(values)).sum()
    return {
        "name": name,
        "width": width,
        "values": values.tolist(),
        "shape": float(shape),
        "scale": float(scale),
        "ln_likelihood": float(ln_likelihood),
    }


def blocks(name, rho, n):
    noise = rng.normal(0, 1000, n)
    values = np.empty(n)
    values[0] = noise[0]
    for i in range(1, n):
        values[i] = rho * values[i - 1] + noise[i]
    values = np.rint(100_000 + values).astype(int)
    single = values.var(ddof=1)
    tau = {}
    length = 1
    while n // length >= 32:
        means = values[: n // length * length].reshape(-1, length).mean(axis=1)
        tau[str(length)] = float(means.var(ddof=1) * length / single)
        length *= 2
    return {
        "name": name,
        "values": values.tolist(),
        "lag_1": float(np.corrcoef(values[:-1], values[1:])[0, 1]),
        "tau_by_block": tau,
        "true_tau": (1 + rho) / (1 - rho),
    }


def exceedances(shape, scale, n):
    return np.floor(stats.genpareto.rvs(shape, scale=scale, size=n, random_state=rng))


expected = {
    "scipy": scipy.__version__,
    "ranks": [
        ranks(n, q)
        for n in [5, 6, 100, 4999, 1_000_000, 243_037_975]
        for q in [0.01, 0.5, 0.9, 0.999, 0.999_999]
    ],
    "gpd": [
        gpd(shape, 8000.0, x)
        for shape in [-0.4, -0.01, 0.0, 1e-8, 0.2, 1.5]
        for x in [1.0, 9000.0, 19_000.0]
    ],
    "fit": [
        fit("heavy", exceedances(0.25, 8000, 300), 1),
        fit("ending", exceedances(-0.25, 8000, 500), 1),
        fit("of two causes", np.r_[exceedances(0, 900, 300), exceedances(0, 9000, 300)], 1),
        fit("in bins", exceedances(0.1, 8000, 2000), 1000),
        fit("in bins as wide as the scale", exceedances(-0.1, 8000, 2000), 8000),
    ],
    "blocks": [blocks("white", 0.0, 4096), blocks("dependent", 0.8, 16384)],
}
file = pathlib.Path(__file__).with_name("one_sample.json")
file.write_text(json.dumps(expected, separators=(",", ":")) + "\n")
