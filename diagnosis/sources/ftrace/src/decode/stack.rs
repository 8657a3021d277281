//! Kernel stacks that ftrace writes behind an event where it is asked to (the option `stacktrace`, trace-cmd's `-T`).

use super::{Known, Record, State};
use tardy_kernel::folded;
use tardy_model::event::{Stack, Taken};
use tardy_model::{Batch, Event, Kind, TaskId};

pub(super) const IMPORTED_EVENTS: &[Known] = &[Known {
    group: "ftrace",
    event: "kernel_stack",
    variant: 0,
    fields: &["caller", "size"],
    decode: stack,
}];

/// Frames of one stack that are read; the outermost beyond are left out.
const FRAMES_MAX: u64 = 64;

/// A switch stands so few events before its stack, those of other CPUs included.
const EVENTS_BACK: usize = 64;

fn stack(state: &mut State, record: &Record<'_>, batch: &mut Batch) -> Option<Event> {
    let frames = record.number(1).unwrap_or(FRAMES_MAX).min(FRAMES_MAX);
    let addresses = record.values.elements(0, frames as usize)?;
    state.nothing_new = true;
    if record.current == TaskId::IDLE {
        return None;
    }
    let symbols = state.definitions.symbols();
    // Old kernels end a stack that is shorter than its place so.
    let ends = |address: &u64| matches!(*address, 0 | u64::MAX) || *address == u64::from(u32::MAX);
    let addresses = addresses.into_iter().take_while(|address| !ends(address));
    let names: Vec<String> = addresses.map(|address| symbols.name(address)).collect();
    let switched = switch_before(record, batch);
    let taken = if switched.is_some() { Taken::Left } else { Taken::Interrupted };
    let folded = folded(taken, names.iter().map(String::as_str))?;
    let frames = state.definitions.name(&folded, batch);
    let stack = Stack { taken, of: record.current, late_ns: 0, frames };
    let Some(at) = switched else { return Some(record.event(stack)) };
    // It shows where the task left the CPU, so it counts as just before.
    let time_ns = batch.events[at].time_ns;
    let stack = Event::new(time_ns, record.cpu, record.current, stack.into());
    batch.events.insert(at, stack);
    None
}

/// Where in the batch the switch is that a stack is of: the last one of its CPU, which took that from the current task.
/// None where the stack is of something else.
fn switch_before(record: &Record<'_>, batch: &Batch) -> Option<usize> {
    let from = batch.events.len().saturating_sub(EVENTS_BACK);
    let here = |event: &Event| event.cpu == record.cpu && matches!(event.kind(), Kind::Switch(_));
    let at = from + batch.events[from..].iter().rposition(here)?;
    (batch.events[at].task == record.current).then_some(at)
}

#[cfg(test)]
mod tests {
    use crate::decode::Decoder;
    use crate::format::{Endian, EventFormat};
    use tardy_kernel::{ClockOffsets, Symbols};
    use tardy_model::event::{Stack, Taken};
    use tardy_model::{Batch, CpuId, Kind};

    const COMMON: &str = "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n";

    const KALLSYMS: &str = "1000 t __schedule\n2000 t schedule\n3000 t zap_pte_range\n\
        4000 t asm_sysvec_apic_timer_interrupt\n5000 t do_work\n";

    fn decoder(word_bytes: u32) -> Decoder {
        let symbols = Symbols::from_text(KALLSYMS);
        let clocks = ClockOffsets::default();
        let mut decoder = Decoder::new(Endian::Little, clocks, 4_000_000, symbols);
        let switch = format!(
            "name: sched_switch\nID: 9\n{COMMON}\
             \tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
             \tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n\
             \tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n\
             \tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n\
             \tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n\
             \tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n\
             \tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n"
        );
        let stack = format!(
            "name: kernel_stack\nID: 4\n{COMMON}\tfield:int size;\toffset:8;\tsize:4;\tsigned:1;\n\
             \tfield:unsigned long caller[8];\toffset:{};\tsize:{};\tsigned:0;\n",
            8 + word_bytes,
            8 * word_bytes
        );
        for (group, text) in [("sched", switch), ("ftrace", stack)] {
            assert!(decoder.learn(group, &EventFormat::parse(&text).unwrap()));
        }
        decoder
    }

    fn switch(prev: u32, next: u32) -> Vec<u8> {
        let mut bytes = vec![9, 0, 0, 0];
        bytes.extend(prev.to_le_bytes());
        for task in [prev, next] {
            bytes.extend(b"some-name\0\0\0\0\0\0\0");
            bytes.extend(task.to_le_bytes());
            bytes.extend(120u32.to_le_bytes());
            if task == prev {
                bytes.extend(0u64.to_le_bytes());
            }
        }
        bytes
    }

    fn stack(task: u32, frames: &[u64], word_bytes: usize) -> Vec<u8> {
        let mut bytes = vec![4, 0, 0, 0];
        bytes.extend(task.to_le_bytes());
        bytes.extend((frames.len() as u32).to_le_bytes());
        bytes.resize(8 + word_bytes, 0);
        for frame in frames {
            bytes.extend(&frame.to_le_bytes()[..word_bytes]);
        }
        bytes
    }

    /// What came of records of one CPU: kinds of events, and stacks with their frames.
    fn decoded(word_bytes: u32, records: &[Vec<u8>]) -> (Vec<bool>, Vec<(Stack, String)>) {
        let (mut decoder, mut batch) = (decoder(word_bytes), Batch::default());
        for (at, bytes) in records.iter().enumerate() {
            decoder.decode(1_000 + at as u64, CpuId(0), bytes, &mut batch);
        }
        assert_eq!(decoder.undecoded(), 0);
        assert!(batch.events.is_sorted_by_key(|event| event.time_ns));
        let mut stacks = Vec::new();
        let mut are_stacks = Vec::new();
        for event in &batch.events {
            match event.kind() {
                Kind::Stack(stack) => {
                    let name = batch.names.iter().find(|(id, _)| *id == stack.frames);
                    stacks.push((stack, name.expect("it is defined").1.clone()));
                    are_stacks.push(true);
                }
                Kind::Switch(_) => are_stacks.push(false),
                _ => {}
            }
        }
        (are_stacks, stacks)
    }

    #[test]
    fn a_switchs_stack_comes_before_it_and_shows_where_the_task_left() {
        for word_bytes in [4, 8] {
            let frames = [0x1010, 0x2020, 0x3030, 0x5050];
            let records = [switch(7, 8), stack(7, &frames, word_bytes)];
            let (order, stacks) = decoded(word_bytes as u32, &records);
            assert_eq!(order, [true, false]);
            assert_eq!((stacks[0].0.taken, stacks[0].0.of.0), (Taken::Left, 7));
            assert_eq!(stacks[0].1, "zap_pte_range<-do_work");
        }
    }

    #[test]
    fn another_stack_shows_what_was_interrupted_if_anything_was() {
        let records = [
            switch(7, 8),
            stack(8, &[0x4010, 0x5050], 8),
            stack(8, &[0x5050], 8),
            stack(8, &[], 8),
        ];
        let (order, stacks) = decoded(8, &records);
        assert_eq!(order, [false, true]);
        assert_eq!((stacks[0].0.taken, stacks[0].1.as_str()), (Taken::Interrupted, "do_work"));
    }

    #[test]
    fn a_stack_that_says_more_frames_than_it_has_is_read_as_far_as_it_goes() {
        let mut cut = stack(7, &[0x1010, 0x3030, 0x5050], 8);
        cut[8..12].fill(0x7f);
        cut.truncate(cut.len() - 3);
        let (_, stacks) = decoded(8, &[switch(7, 8), cut]);
        assert_eq!(stacks[0].1, "zap_pte_range");
    }
}
