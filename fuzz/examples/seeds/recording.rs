//! Recordings: what their writer makes of every kind of event.

use super::Error;
use std::fs;
use tardy_model::{Batch, CpuId, Event, NameId, TaskId, TimerClass, TimerDef, TimerId};
use tardy_recording::{Host, Manifest, ManifestEnd, Options, Writer};

type Write<'a> = &'a dyn Fn(&str, &[u8]) -> Result<(), Error>;

/// Writes segments and manifests.
pub(super) fn write(write: Write<'_>) -> Result<(), Error> {
    for (name, compress) in [("plain", false), ("zstd", true)] {
        let folder = std::env::temp_dir().join(format!("tardy-seeds-{}", std::process::id()));
        let options = Options { compress, ..Options::default() };
        let host = Host { name: "box".to_owned(), hz: Some(250), ..Host::default() };
        let settings = [("kernel.sched_rt_runtime_us".to_owned(), "950000".to_owned())].into();
        let notes = vec!["A note.".to_owned()];
        let manifest = Manifest { created_unix_s: 7, host, settings, notes, ..Manifest::default() };
        let mut writer = Writer::create_with(&folder, manifest, options)?;
        for from in [0, 100] {
            writer.append(batch(from))?;
        }
        writer.seal(ManifestEnd::default())?;
        write(&format!("segment/{name}"), &fs::read(folder.join("events/000000.seg"))?)?;
        if !compress {
            write("manifest/sealed", &fs::read(folder.join("manifest.json"))?)?;
        }
        fs::remove_dir_all(&folder)?;
    }
    Ok(())
}

fn batch(from: u32) -> Batch {
    let timer = |id, class| TimerDef {
        id: TimerId(id),
        address: 0xffff_8880_0000_0000 + u64::from(id),
        function: NameId(from),
        owner: TaskId(7),
        class,
    };
    let event = |tag: u8| {
        let mut bytes = [0; tardy_model::RECORD_BYTES];
        bytes[..8].copy_from_slice(&(u64::from(from) + u64::from(tag)).to_le_bytes());
        let blank = Event::from_bytes(&bytes);
        Event::from_parts(blank.time_ns, CpuId(1), TaskId(7), tag, blank.payload())
    };
    Batch {
        names: vec![(NameId(from), "tick_sched_timer".to_owned())],
        timers: vec![timer(from, TimerClass::Hrtimer), timer(from + 1, TimerClass::TimerList)],
        events: (1..28).map(event).collect(),
    }
}
