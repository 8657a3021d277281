//! How definitions lie in a frame's payload; the layout is in [`crate::format`].

use crate::format::{NAME_BYTES_MAX, TIMER_BYTES};
use tardy_model::{NameId, TaskId, TimerClass, TimerDef, TimerId};

/// A name as it is kept: cut at [`NAME_BYTES_MAX`], at a character.
pub(crate) fn kept_name(name: &str) -> &str {
    let mut end = name.len().min(NAME_BYTES_MAX);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    &name[..end]
}

/// Bytes that [`put_name`] adds for a name that was cut by [`kept_name`].
pub(crate) fn name_bytes(name: &str) -> usize {
    6 + name.len()
}

pub(crate) fn put_name(out: &mut Vec<u8>, id: NameId, name: &str) {
    out.extend_from_slice(&id.0.to_le_bytes());
    out.extend_from_slice(&(name.len() as u16).to_le_bytes());
    out.extend_from_slice(name.as_bytes());
}

/// Reads `count` names that fill `payload` exactly; `None` where they do not.
pub(crate) fn read_names(
    mut payload: &[u8],
    count: u32,
    names: &mut Vec<(NameId, String)>,
) -> Option<()> {
    for _ in 0..count {
        let (id, rest) = payload.split_first_chunk::<4>()?;
        let (len, rest) = rest.split_first_chunk::<2>()?;
        let (name, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes(*len)))?;
        let name = std::str::from_utf8(name).ok()?;
        names.push((NameId(u32::from_le_bytes(*id)), name.to_owned()));
        payload = rest;
    }
    payload.is_empty().then_some(())
}

pub(crate) fn timer_to_bytes(timer: &TimerDef) -> [u8; TIMER_BYTES] {
    let mut out = [0; TIMER_BYTES];
    out[0..4].copy_from_slice(&timer.id.0.to_le_bytes());
    out[4..8].copy_from_slice(&timer.function.0.to_le_bytes());
    out[8..16].copy_from_slice(&timer.address.to_le_bytes());
    out[16..20].copy_from_slice(&timer.owner.0.to_le_bytes());
    out[20] = match timer.class {
        TimerClass::Hrtimer => 0,
        TimerClass::TimerList => 1,
    };
    out
}

/// Reads `count` timers that fill `payload` exactly; `None` where they do not.
pub(crate) fn read_timers(payload: &[u8], count: u32, timers: &mut Vec<TimerDef>) -> Option<()> {
    let (entries, rest) = payload.as_chunks::<TIMER_BYTES>();
    if !rest.is_empty() || entries.len() != count as usize {
        return None;
    }
    for entry in entries {
        timers.push(timer_from_bytes(entry)?);
    }
    Some(())
}

fn timer_from_bytes(bytes: &[u8; TIMER_BYTES]) -> Option<TimerDef> {
    let (id, rest) = bytes.split_first_chunk::<4>()?;
    let (function, rest) = rest.split_first_chunk::<4>()?;
    let (address, rest) = rest.split_first_chunk::<8>()?;
    let (owner, rest) = rest.split_first_chunk::<4>()?;
    let class = match rest[0] {
        0 => TimerClass::Hrtimer,
        1 => TimerClass::TimerList,
        _ => return None,
    };
    Some(TimerDef {
        id: TimerId(u32::from_le_bytes(*id)),
        address: u64::from_le_bytes(*address),
        function: NameId(u32::from_le_bytes(*function)),
        owner: TaskId(u32::from_le_bytes(*owner)),
        class,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_must_fill_the_payload_exactly() {
        let mut bytes = Vec::new();
        put_name(&mut bytes, NameId(3), "tick_sched_timer");
        put_name(&mut bytes, NameId(4), "");
        assert_eq!(bytes.len(), name_bytes("tick_sched_timer") + name_bytes(""));
        let mut names = Vec::new();
        assert_eq!(read_names(&bytes, 2, &mut names), Some(()));
        assert_eq!(names, [(NameId(3), "tick_sched_timer".to_owned()), (NameId(4), String::new())]);
        assert_eq!(read_names(&bytes, 1, &mut names), None, "bytes left over");
        assert_eq!(read_names(&bytes, 3, &mut names), None, "an entry missing");
        assert_eq!(read_timers(&[0; TIMER_BYTES + 1], 1, &mut Vec::new()), None);
    }

    #[test]
    fn long_names_are_cut_at_a_character() {
        let name = format!("x{}", "é".repeat(NAME_BYTES_MAX));
        let kept = kept_name(&name);
        assert_eq!(kept.len(), NAME_BYTES_MAX - 1);
        assert!(name.starts_with(kept));
    }
}
