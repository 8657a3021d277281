//! The look of each cause, the same on the terminal and on the page.

use anstyle::Ansi256Color;
use tardy_model::Cause;

/// How one cause looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// A letter that no other registered cause has.
    pub letter: char,
    /// Red, green, blue.
    pub rgb: [u8; 3],
}

/// Colours after Okabe and Ito, and Tol's "bright" and "muted" schemes, both made for readers who
/// confuse red and green; the causes that most often stand beside each other got the pairs that
/// differ most. All of them hold on white and on near-black.
const LOOKS: [(&str, char, u32); 28] = [
    ("slack", 'S', 0x44_AA_99),
    ("coarse_clock", 'C', 0x11_77_33),
    ("idle_exit", 'I', 0x56_B4_E9),
    ("irq_delay", 'D', 0xE6_9F_00),
    ("hypervisor", 'H', 0x6F_5F_D0),
    ("stacked_timers", 'T', 0xD5_5E_00),
    ("hrtimer_hang", 'h', 0xA6_3A_00),
    ("softirq_wait", 'W', 0xAA_33_77),
    ("softirq_work", 'R', 0x88_22_55),
    ("timer_thread_wait", 'Y', 0xB0_4F_9C),
    ("timer_thread_work", 'U', 0x6E_2C_5F),
    ("callback", 'B', 0x00_9E_73),
    ("higher_priority", 'P', 0x1F_77_C4),
    ("not_preemptible", 'N', 0xCC_79_A7),
    ("switch_delay", 'O', 0xB3_8A_C0),
    ("unseen_migration", 'V', 0x9A_6F_8F),
    ("cpu_contention", 'E', 0x33_22_88),
    ("forced_idle", 'J', 0x66_CC_BB),
    ("irqs_off", 'X', 0xC4_6A_00),
    ("armed_late", 'A', 0x8C_9A_5B),
    ("interrupts", 'Q', 0xE3_CF_3A),
    ("wrong_cpu", 'M', 0x88_CC_EE),
    ("throttled", 'G', 0x99_99_33),
    ("lock", 'L', 0xEE_66_77),
    ("own_kernel_work", 'K', 0x7A_8B_A0),
    ("page_fault", 'F', 0xA6_76_1D),
    ("stopped", 'Z', 0x7F_6D_5F),
    ("unexplained", '?', 0xA0_A0_A0),
];

/// The look of a cause. One that is not registered here gets the letter `*` and a colour that
/// depends on its name alone, so that it stays the same between reports.
pub fn look(cause: Cause) -> Look {
    let known = LOOKS.iter().find(|(name, ..)| *name == cause.0);
    let (letter, colour) = known.map_or_else(
        || {
            let hash = cause
                .0
                .bytes()
                .fold(7usize, |hash, byte| hash.wrapping_mul(31).wrapping_add(usize::from(byte)));
            ('*', LOOKS[hash % LOOKS.len()].2)
        },
        |&(_, letter, colour)| (letter, colour),
    );
    let [_, rgb @ ..] = colour.to_be_bytes();
    Look { letter, rgb }
}

impl Look {
    /// The colour as CSS and SVG write it.
    pub fn hex(self) -> String {
        let [r, g, b] = self.rgb;
        format!("#{r:02x}{g:02x}{b:02x}")
    }

    /// Whether black is easier to read on it than white (relative luminance above 0.18, where both
    /// contrast alike: WCAG 2, 1.4.3).
    pub fn wants_black_ink(self) -> bool {
        let linear = |channel: u8| {
            let c = f64::from(channel) / 255.0;
            if c <= 0.040_45 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        };
        let [r, g, b] = self.rgb.map(linear);
        0.2126 * r + 0.7152 * g + 0.0722 * b > 0.18
    }

    /// The nearest colour of the 6×6×6 cube that nearly every terminal has.
    pub fn ansi(self) -> Ansi256Color {
        const STEPS: [u8; 6] = [0, 95, 135, 175, 215, 255];
        let [r, g, b] = self.rgb.map(|channel| {
            let distance = |step: &usize| STEPS[*step].abs_diff(channel);
            (0..STEPS.len()).min_by_key(distance).unwrap_or_default() as u8
        });
        Ansi256Color(16 + 36 * r + 6 * g + b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_two_causes_look_alike() {
        let looks = LOOKS.map(|(name, ..)| look(Cause(name)));
        assert_eq!(
            looks.map(|look| look.letter).into_iter().collect::<BTreeSet<_>>().len(),
            LOOKS.len()
        );
        assert_eq!(
            looks.map(|look| look.rgb).into_iter().collect::<BTreeSet<_>>().len(),
            LOOKS.len()
        );
        let ansi = looks.map(|look| look.ansi().0).into_iter().collect::<BTreeSet<_>>();
        assert!(ansi.len() >= 22, "{ansi:?}");
    }

    #[test]
    fn a_new_cause_has_a_look_that_stays() {
        assert_eq!(look(Cause("made_up")), look(Cause("made_up")));
        assert_eq!(look(Cause("made_up")).letter, '*');
    }
}
