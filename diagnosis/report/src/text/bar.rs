//! Bars of blocks.

use super::Terminal;
use crate::json::MergedSegment;
use crate::palette::look;
use crate::shares::apportion;
use tardy_model::Cause;

/// Columns of a bar in a table.
pub(crate) const SHARE_BAR_COLUMNS: usize = 10;

/// A bar of eighths of a block for a share (tenths of a percent), of which the whole has `width` columns. A share
/// above zero is always seen.
pub(crate) fn share_bar(tenths: u32, width: usize) -> String {
    const EIGHTHS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
    let eighths = (tenths.min(1000) as usize * width * 8).div_ceil(1000);
    let mut bar = "█".repeat(eighths / 8);
    if !eighths.is_multiple_of(8) {
        bar.push(EIGHTHS[eighths % 8]);
    }
    bar
}

/// A lateness as a bar of its causes' letters, at most `width` columns. Each segment gets a column
/// at least, as long as there are columns for all; the rest are shared out by time.
pub(crate) fn segment_bar<K>(
    segments: &[MergedSegment<K>],
    width: usize,
    terminal: Terminal,
) -> String {
    let weights: Vec<u64> = segments.iter().map(|segment| segment.ns).collect();
    let sure = usize::from(segments.len() <= width);
    let free = (width - sure * segments.len().min(width)) as u64;
    let mut runs: Vec<(Cause, usize)> = Vec::new();
    for (segment, extra) in segments.iter().zip(apportion(free, &weights)) {
        let columns = sure + extra as usize;
        match runs.last_mut() {
            Some((cause, so_far)) if *cause == segment.cause => *so_far += columns,
            _ => runs.push((segment.cause, columns)),
        }
    }
    runs.into_iter()
        .map(|(cause, columns)| {
            terminal.on_cause(cause, &look(cause).letter.to_string().repeat(columns))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(cause: &'static str, ns: u64) -> MergedSegment<()> {
        MergedSegment { cause: Cause(cause), start_ns: 0, ns, culprits: Vec::new(), stretch: 0 }
    }

    #[test]
    fn a_share_above_zero_is_seen() {
        assert_eq!(share_bar(0, 4), "");
        assert_eq!(share_bar(1, 4), "▏");
        assert_eq!(share_bar(500, 4), "██");
        assert_eq!(share_bar(1000, 4), "████");
    }

    #[test]
    fn columns_go_by_time_and_none_is_forgotten() {
        let bar = |segments: &[_], width| segment_bar(segments, width, Terminal::default());
        let story = [segment("irq_delay", 1), segment("stacked_timers", 900), segment("lock", 99)];
        assert_eq!(bar(&story, 10), "DTTTTTTTLL");
        assert_eq!(bar(&story, 3), "DTL");
        assert_eq!(bar(&story, 2), "TT", "too narrow for all: the longest wins");
        assert_eq!(bar(&[], 10), "");
    }
}
