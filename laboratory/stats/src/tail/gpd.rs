//! The generalised Pareto distribution, to which all tails that have a limit tend (Pickands,
//! "Statistical Inference Using Extreme Order Statistics", 1975).

/// Shapes nearer to 0 than this are 0: the distribution is the exponential one.
const SHAPE_ZERO: f64 = 1e-9;

/// A generalised Pareto distribution of excesses over a threshold, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gpd {
    /// Its scale σ, ns: the mean excess is σ / (1 − ξ).
    pub scale_ns: f64,
    /// Its shape ξ: 0 for the exponential tail, below for one that ends, above for one heavier; from
    /// 1 on the mean is infinite.
    pub shape: f64,
}

impl Gpd {
    /// The logarithm of the chance that an excess is more than `ns`; −∞ beyond its end.
    pub fn ln_survival(&self, ns: f64) -> f64 {
        let scaled = ns / self.scale_ns;
        if self.shape.abs() < SHAPE_ZERO {
            return -scaled;
        }
        let inner = self.shape * scaled;
        if inner <= -1.0 { f64::NEG_INFINITY } else { -inner.ln_1p() / self.shape }
    }

    /// The chance that an excess is more than `ns`.
    pub fn survival(&self, ns: f64) -> f64 {
        self.ln_survival(ns).exp()
    }

    /// The excess that is surpassed with the chance `e^ln_p`.
    pub fn surpassed_ns(&self, ln_p: f64) -> f64 {
        if self.shape.abs() < SHAPE_ZERO {
            return -self.scale_ns * ln_p;
        }
        self.scale_ns * (-self.shape * ln_p).exp_m1() / self.shape
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_surpassed_with_a_chance_has_that_chance() {
        for shape in [-0.4, -1e-12, 0.0, 1e-7, 0.3, 1.2] {
            let gpd = Gpd { scale_ns: 8_000.0, shape };
            for ln_p in [-0.01, -1.0, -20.0] {
                let ns = gpd.surpassed_ns(ln_p);
                assert!((gpd.ln_survival(ns) / ln_p - 1.0).abs() < 1e-6, "{shape} {ln_p}");
            }
        }
        // It ends at σ / −ξ.
        let ending = Gpd { scale_ns: 100.0, shape: -0.5 };
        assert!(ending.survival(199.9) > 0.0 && ending.survival(200.1) <= 0.0);
    }
}
