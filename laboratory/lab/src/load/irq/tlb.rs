//! A mapping that becomes read-only: what other CPUs, on which threads of this process run, remember of
//! it must be forgotten. Where the processor tells the others itself (arm64; x86 with INVLPGB) nobody
//! is interrupted. Whoever of this process has a page fault at that moment waits for it.

use super::{Way, at_rate, spinner};
use memmap2::MmapMut;

/// One page, or a part of one.
const BYTES: usize = 4096;

pub(super) const WAY: Way = Way {
    name: "tlb",
    rate_least: 0,
    posts: |irq, cpus| {
        let spinners = cpus.iter().map(|cpu| spinner(*cpu));
        let callers = (0..irq.threads).map(|index| {
            at_rate(irq, format!("irq-tlb-{index:02}"), &["shootdowns"], || {
                let mut mapping = Some(MmapMut::map_anon(BYTES)?);
                Ok(move || {
                    let Some(mut writable) = mapping.take() else { return Ok(()) };
                    // Only what was touched is remembered by any CPU.
                    writable[0] = writable[0].wrapping_add(1);
                    mapping = Some(writable.make_read_only()?.make_mut()?);
                    Ok(())
                })
            })
        });
        Ok(spinners.chain(callers).collect())
    },
    #[cfg(test)]
    raises: &["TLB shootdowns"],
};
