//! A wakeup as a picture: the victim's segments above what each CPU did.

use super::{culprits_text, details};
use crate::clean::cut;
use crate::json::MergedSegment;
use crate::names::full_name;
use crate::page::{Axis, tick_label, two};
use crate::palette::look;
use crate::units::{counted, duration};
use maud::{Markup, html};
use tardy_explain::{Label, Lane, LaneSpan, WorstWakeup};
use tardy_model::{Stretch, StretchKind};

const WIDTH: f64 = 1000.0;
const LEFT: f64 = 96.0;
const RIGHT: f64 = 116.0;
/// Where the rows begin; the markers' names stand above.
const TOP: usize = 22;
const VICTIM_HEIGHT: usize = 34;
const LANE_HEIGHT: usize = 24;
const STRETCH_HEIGHT: usize = 20;
const BOOST_RADIUS: f64 = 4.0;
const ROW_GAP: usize = 6;
/// Room for the axis' labels.
const FOOT: usize = 22;
/// Lanes shown; further ones are counted.
const LANES_MAX: usize = 12;
/// Stretches and boosts drawn; more are in the text below.
const STRETCHES_MAX: usize = 200;
/// The width of a character of the labels, on the safe side.
const CHARACTER: f64 = 6.8;
/// A span narrower than this is drawn together with its neighbours.
const NARROW: f64 = 0.7;

/// A run of spans drawn as one rectangle.
struct Drawn<'a> {
    start_ns: u64,
    end_ns: u64,
    /// `None` where spans too narrow to tell apart were joined.
    label: Option<&'a Label>,
    spans: u64,
}

/// Parts of the victim's lateness drawn as one rectangle.
struct Part<'a> {
    start_ns: u64,
    ns: u64,
    /// The longest of them.
    segment: &'a MergedSegment<Label>,
    segments: u64,
}

pub(super) fn timeline(worst: &WorstWakeup, segments: &[MergedSegment<Label>]) -> Markup {
    let wakeup = &worst.wakeup;
    let end_ns = wakeup.expiry_ns.saturating_add(wakeup.lateness_ns);
    let (from_ns, to_ns) = range(worst, end_ns);
    let offset = |ns: u64| ns as f64 - wakeup.expiry_ns as f64;
    let axis = Axis::linear((offset(from_ns), offset(to_ns)), (LEFT, WIDTH - RIGHT));
    let at = |ns: u64| axis.at(offset(ns.clamp(from_ns, to_ns)));

    let lanes = lanes(worst);
    let stretches = &wakeup.stretches[..wakeup.stretches.len().min(STRETCHES_MAX)];
    let boosts = &wakeup.boosts[..wakeup.boosts.len().min(STRETCHES_MAX)];
    let stretches_top = TOP + VICTIM_HEIGHT + ROW_GAP;
    let boosts_top = stretches_top + row(!stretches.is_empty());
    let lanes_top = boosts_top + row(!boosts.is_empty());
    let bottom = lanes_top + lanes.len() * (LANE_HEIGHT + ROW_GAP);
    let name = full_name(&worst.victim);
    html! {
        svg.chart.timeline viewBox=(format!("0 0 {WIDTH} {}", bottom + FOOT)) data-rove role="group"
            aria-label=(format!("Timeline of a wakeup of {name}, {} late", duration(wakeup.lateness_ns))) {
            @for (value, label) in axis.ticks(8, tick_label) {
                @let x = two(axis.at(value));
                line.grid x1=(x) x2=(x) y1=(TOP) y2=(bottom) {}
                text.tick x=(x) y=(bottom + 15) text-anchor="middle" { (label) }
            }
            text x="0" y=(TOP + VICTIM_HEIGHT / 2 + 4) { (cut(&name, 13)) title { (name) } }
            @for part in parts(segments, &at) {
                @let (x, end) = (at(part.start_ns), at(part.start_ns.saturating_add(part.ns)));
                (part_box(&part, x, end - x, worst))
            }
            @if !stretches.is_empty() {
                text x="0" y=(stretches_top + STRETCH_HEIGHT / 2 + 4) { "in turn" }
            }
            @for stretch in stretches {
                @let (x, end) = (at(stretch.start_ns), at(stretch.start_ns.saturating_add(stretch.ns)));
                (stretch_box(stretch, x, end - x, stretches_top, worst))
            }
            @if !boosts.is_empty() {
                text x="0" y=(boosts_top + STRETCH_HEIGHT / 2 + 4) { "priorities" }
            }
            @for boost in boosts {
                g.tip {
                    title { (details::boost_words(worst, boost)) }
                    circle class=(if boost.released { "boost given" } else { "boost" })
                        cx=(two(at(boost.time_ns))) cy=(boosts_top + STRETCH_HEIGHT / 2)
                        r=(BOOST_RADIUS) {}
                }
            }
            @for (number, lane) in lanes.iter().enumerate() {
                @let y = lanes_top + number * (LANE_HEIGHT + ROW_GAP);
                text x="0" y=(y + LANE_HEIGHT / 2 + 4) { "CPU " (lane.cpu) }
                rect.unknown x=(two(LEFT)) y=(y) width=(two(WIDTH - LEFT - RIGHT))
                    height=(LANE_HEIGHT) {}
                @for drawn in joined(lane, from_ns, to_ns, &at) {
                    @let (x, end) = (at(drawn.start_ns), at(drawn.end_ns));
                    (span_box(&drawn, x, end - x, y, worst))
                }
            }
            @for (ns, name, anchor, aside) in [
                (wakeup.expiry_ns, "expiry".to_owned(), "end", -5.0),
                (end_ns, format!("runs +{}", duration(wakeup.lateness_ns)), "start", 5.0),
            ] {
                @let x = at(ns);
                line.marker x1=(two(x)) x2=(two(x)) y1="4" y2=(bottom) {}
                text.marker x=(two(x + aside)) y="14" text-anchor=(anchor) { (name) }
            }
        }
        @if worst.lanes.len() > lanes.len() {
            p.note { (counted((worst.lanes.len() - lanes.len()) as u64, "more CPU")) " not shown" }
        }
    }
}

/// What is shown: the lateness, and of what the lanes know before and after at most a quarter more
/// on each side, so that the lateness keeps most of the width.
fn range(worst: &WorstWakeup, end_ns: u64) -> (u64, u64) {
    let expiry_ns = worst.wakeup.expiry_ns;
    let spans = || worst.lanes.iter().flat_map(|lane| &lane.spans);
    let margin_ns = (worst.wakeup.lateness_ns / 4).max(1);
    let first_ns = spans().map(|span| span.start_ns).min().unwrap_or(expiry_ns);
    let last_ns = spans().map(|span| span.end_ns).max().unwrap_or(end_ns);
    (
        first_ns.clamp(expiry_ns.saturating_sub(margin_ns), expiry_ns),
        last_ns.clamp(end_ns, end_ns.saturating_add(margin_ns)),
    )
}

/// The victim's own CPU first, then the others by number.
fn lanes(worst: &WorstWakeup) -> Vec<&Lane> {
    let mut lanes: Vec<&Lane> = worst.lanes.iter().collect();
    lanes.sort_by_key(|lane| (lane.cpu != worst.wakeup.cpu, lane.cpu));
    lanes.truncate(LANES_MAX);
    lanes
}

/// The spans within the range, those too narrow to be seen joined, so that a lane is never more
/// rectangles than it has room for.
fn joined<'a>(
    lane: &'a Lane,
    from_ns: u64,
    to_ns: u64,
    at: &impl Fn(u64) -> f64,
) -> Vec<Drawn<'a>> {
    let mut drawn: Vec<Drawn<'a>> = Vec::new();
    let visible = |span: &&LaneSpan| span.end_ns > from_ns && span.start_ns < to_ns;
    for span in lane.spans.iter().filter(visible) {
        let width = |start_ns, end_ns| at(end_ns) - at(start_ns);
        if let Some(last) = drawn.last_mut()
            && width(last.start_ns, last.end_ns) < NARROW
            && width(last.end_ns, span.end_ns) < NARROW
        {
            last.end_ns = span.end_ns.max(last.end_ns);
            last.label = None;
            last.spans += 1;
            continue;
        }
        let (start_ns, end_ns) = (span.start_ns, span.end_ns);
        drawn.push(Drawn { start_ns, end_ns, label: Some(&span.label), spans: 1 });
    }
    drawn
}

/// The victim's parts, those too narrow to be seen joined.
fn parts<'a>(segments: &'a [MergedSegment<Label>], at: &impl Fn(u64) -> f64) -> Vec<Part<'a>> {
    let mut parts: Vec<Part<'a>> = Vec::new();
    let is_narrow = |start_ns: u64, ns| at(start_ns.saturating_add(ns)) - at(start_ns) < NARROW;
    for segment in segments {
        if let Some(last) = parts.last_mut()
            && is_narrow(last.start_ns, last.ns)
            && is_narrow(segment.start_ns, segment.ns)
        {
            last.ns += segment.ns;
            last.segments += 1;
            if segment.ns > last.segment.ns {
                last.segment = segment;
            }
            continue;
        }
        let (start_ns, ns) = (segment.start_ns, segment.ns);
        parts.push(Part { start_ns, ns, segment, segments: 1 });
    }
    parts
}

fn part_box(part: &Part<'_>, x: f64, width: f64, worst: &WorstWakeup) -> Markup {
    /// Culprits named where there is room for a few lines.
    const NAMED: usize = 6;
    let segment = part.segment;
    let look = look(segment.cause);
    let after_ns = part.start_ns.saturating_sub(worst.wakeup.expiry_ns);
    let letter = look.letter.to_string();
    let label = [segment.cause.0, &letter]
        .into_iter()
        .find(|label| label.chars().count() as f64 * CHARACTER + 6.0 < width)
        .unwrap_or_default();
    html! {
        g.tip {
            title {
                @if part.segments > 1 {
                    (counted(part.segments, "part")) " too short to draw, " (duration(part.ns))
                    ", from +" (duration(after_ns)) "; the longest: "
                }
                (segment.cause.0) ", " (duration(segment.ns))
                @if part.segments == 1 { ", from +" (duration(after_ns)) }
                ": " (culprits_text(segment, NAMED))
            }
            rect.part x=(two(x)) y=(TOP) width=(two(width.max(0.5))) height=(VICTIM_HEIGHT)
                fill=(look.hex()) {}
            @if !label.is_empty() {
                text.ink.black[look.wants_black_ink()] x=(two(x + width / 2.0))
                    y=(TOP + VICTIM_HEIGHT / 2 + 4) text-anchor="middle" { (label) }
            }
        }
    }
}

/// The room that a row takes, where it is there.
fn row(is_there: bool) -> usize {
    if is_there { STRETCH_HEIGHT + ROW_GAP } else { 0 }
}

fn stretch_box(stretch: &Stretch, x: f64, width: f64, y: usize, worst: &WorstWakeup) -> Markup {
    let label = details::label(worst, stretch);
    let class = match stretch.kind {
        StretchKind::Blocked { .. } => "stretch blocked",
        _ => "stretch",
    };
    let room = ((width - 6.0) / CHARACTER).max(0.0) as usize;
    html! {
        g.tip {
            title { (label) ", " (duration(stretch.ns)) }
            rect class=(class) x=(two(x)) y=(y) width=(two(width.max(0.5)))
                height=(STRETCH_HEIGHT) {}
            @if room >= 5 {
                text.ink.plain x=(two(x + width / 2.0)) y=(y + STRETCH_HEIGHT / 2 + 4)
                    text-anchor="middle" { (cut(&label, room)) }
            }
        }
    }
}

fn span_box(drawn: &Drawn<'_>, x: f64, width: f64, y: usize, worst: &WorstWakeup) -> Markup {
    let (class, name) = match drawn.label {
        Some(label) if label.kind == "task" && *label == worst.victim => {
            ("victim", full_name(label))
        }
        Some(label) => (class_of(label), full_name(label)),
        None => ("mixed", format!("{} too short to draw", counted(drawn.spans, "span"))),
    };
    let room = ((width - 6.0) / CHARACTER).max(0.0) as usize;
    html! {
        g.tip {
            title { (name) ", " (duration(drawn.end_ns.saturating_sub(drawn.start_ns))) }
            rect class=(format!("span {class}")) x=(two(x)) y=(y) width=(two(width.max(0.5)))
                height=(LANE_HEIGHT) {}
            // Three characters and a cut say nothing; the tip says it all.
            @if room >= 5 || room >= name.chars().count() {
                text class=(format!("on {class}")) x=(two(x + width / 2.0))
                    y=(y + LANE_HEIGHT / 2 + 4) text-anchor="middle" { (cut(&name, room)) }
            }
        }
    }
}

fn class_of(label: &Label) -> &'static str {
    match label.kind {
        "idle_state" => "idle",
        "irq" | "softirq" => "irq",
        "timer" | "function" => "timer",
        "kernel_task" => "kernel",
        "task" => "task",
        _ => "mixed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn a_lane_is_never_more_boxes_than_it_has_room_for() {
        let mut worst = fixture::explanation().worst.remove(0);
        let label = Label { kind: "irq", name: "eth0".to_owned(), pid: None };
        let from_ns = worst.wakeup.expiry_ns;
        worst.lanes[0].spans = (0..200_000)
            .map(|n| LaneSpan {
                start_ns: from_ns + n * 2,
                end_ns: from_ns + n * 2 + 1,
                label: label.clone(),
            })
            .collect();
        let to_ns = from_ns + 400_000;
        let at = |ns: u64| LEFT + (ns - from_ns) as f64 / 400_000.0 * (WIDTH - LEFT - RIGHT);
        let drawn = joined(&worst.lanes[0], from_ns, to_ns, &at);
        assert!(drawn.len() as f64 <= (WIDTH - LEFT - RIGHT) / NARROW + 1.0, "{}", drawn.len());
        assert_eq!(drawn.iter().map(|drawn| drawn.spans).sum::<u64>(), 200_000);
    }

    #[test]
    fn a_wakeup_of_many_parts_is_told_by_its_longest() {
        let worst = fixture::explanation().worst.remove(0);
        let one = &super::super::merged(&worst)[0];
        let start_ns = worst.wakeup.expiry_ns;
        let segments: Vec<_> = (0..100_000u64)
            .map(|n| {
                let ns = if n % 1_000 == 500 { 4 } else { 1 };
                MergedSegment { start_ns: start_ns + n * 4, ns, ..one.clone() }
            })
            .collect();
        let at = |ns: u64| LEFT + (ns - start_ns) as f64 / 400_000.0 * (WIDTH - LEFT - RIGHT);
        let drawn = parts(&segments, &at);
        assert!(
            drawn.len() as f64 <= 2.0 * (WIDTH - LEFT - RIGHT) / NARROW + 1.0,
            "{}",
            drawn.len()
        );
        assert_eq!(drawn.iter().map(|part| part.segments).sum::<u64>(), 100_000);
        let (longest, others) = super::super::longest(&segments, 100);
        assert!(longest.iter().all(|segment| segment.ns == 4));
        assert!(longest.is_sorted_by_key(|segment| segment.start_ns));
        assert_eq!(others, Some((99_900, 99_900)));
    }

    #[test]
    fn the_lateness_keeps_most_of_the_width() {
        let mut worst = fixture::explanation().worst.remove(0);
        let (expiry_ns, lateness_ns) = (worst.wakeup.expiry_ns, worst.wakeup.lateness_ns);
        worst.lanes[0].spans[0].start_ns = 0;
        let (from_ns, to_ns) = range(&worst, expiry_ns + lateness_ns);
        assert_eq!(from_ns, expiry_ns - lateness_ns / 4);
        assert_eq!(to_ns, expiry_ns + lateness_ns + 30_000);
        worst.lanes.clear();
        assert_eq!(range(&worst, expiry_ns + lateness_ns), (expiry_ns, expiry_ns + lateness_ns));
    }
}
