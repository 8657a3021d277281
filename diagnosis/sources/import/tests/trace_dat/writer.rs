//! Writes trace.dat files of machines of any byte order and word size, as trace-cmd.dat.v6(5) and
//! trace-cmd.dat.v7(5) describe them.

use flate2::Compression;
use flate2::read::{GzEncoder, ZlibEncoder};
use std::fmt::Write;
use std::io::Read;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Machine {
    pub(crate) is_big: bool,
    /// Bytes of a `long`.
    pub(crate) word: usize,
}

pub(crate) const MACHINES: [Machine; 4] = [
    Machine { is_big: false, word: 8 },
    Machine { is_big: false, word: 4 },
    Machine { is_big: true, word: 8 },
    Machine { is_big: true, word: 4 },
];

pub(crate) const PAGE_BYTES: usize = 4096;

/// A field: its type (`long` has the machine's word), its name, how many of it.
type Field = (&'static str, &'static str, usize);

/// An event of the kernel: group, name, fields. Its id is 10 and its place.
pub(crate) const EVENTS: [(&str, &str, &[Field]); 7] = [
    (
        "sched",
        "sched_switch",
        &[
            ("char", "prev_comm", 16),
            ("int", "prev_pid", 1),
            ("int", "prev_prio", 1),
            ("long", "prev_state", 1),
            ("char", "next_comm", 16),
            ("int", "next_pid", 1),
            ("int", "next_prio", 1),
        ],
    ),
    (
        "sched",
        "sched_waking",
        &[("char", "comm", 16), ("int", "pid", 1), ("int", "prio", 1), ("int", "target_cpu", 1)],
    ),
    (
        "timer",
        "hrtimer_start",
        &[
            ("long", "hrtimer", 1),
            ("long", "function", 1),
            ("s64", "expires", 1),
            ("s64", "softexpires", 1),
            ("int", "mode", 1),
        ],
    ),
    (
        "timer",
        "hrtimer_expire_entry",
        &[("long", "hrtimer", 1), ("s64", "now", 1), ("long", "function", 1)],
    ),
    ("raw_syscalls", "sys_enter", &[("long", "id", 1), ("long", "args", 6)]),
    ("raw_syscalls", "sys_exit", &[("long", "id", 1), ("long", "ret", 1)]),
    ("timer", "hrtimer_expire_exit", &[("long", "hrtimer", 1)]),
];

/// A value of a field.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Number(u64),
    Text(&'static str),
}

/// An event: time, event's name, current task, values in the fields' order.
pub(crate) type Record = (u64, &'static str, u32, Vec<Value>);

/// A trace instance: its name and, by CPU, its pages.
#[derive(Clone)]
pub(crate) struct Instance {
    pub(crate) name: &'static str,
    pub(crate) cpus: Vec<Vec<Vec<u8>>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packing {
    None,
    Zstd,
    Zlib,
    Gzip,
}

pub(crate) const KALLSYMS: &str = "c0001000 t hrtimer_wakeup\nc0002000 t tick_nohz_handler\n";

impl Machine {
    pub(crate) fn number(self, number: u64, bytes: usize) -> Vec<u8> {
        if self.is_big {
            number.to_be_bytes()[8 - bytes..].to_vec()
        } else {
            number.to_le_bytes()[..bytes].to_vec()
        }
    }

    fn bytes_of(self, kind: &str) -> usize {
        match kind {
            "char" => 1,
            "int" => 4,
            "s64" => 8,
            _ => self.word,
        }
    }

    fn format(self, at: usize) -> String {
        let (_, name, fields) = EVENTS[at];
        let mut text = format!(
            "name: {name}\nID: {}\nformat:\n\
             \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
             \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n",
            10 + at
        );
        let mut offset = 8;
        for (kind, field, count) in fields {
            let size = self.bytes_of(kind);
            offset = usize::next_multiple_of(offset, size);
            let array = if *count > 1 { format!("[{count}]") } else { String::new() };
            let bytes = size * count;
            writeln!(
                text,
                "\tfield:{kind} {field}{array};\toffset:{offset};\tsize:{bytes};\tsigned:1;"
            )
            .unwrap();
            offset += bytes;
        }
        text + "\nprint fmt: \"\"\n"
    }

    fn record(self, name: &str, task: u32, values: &[Value]) -> Vec<u8> {
        let at = EVENTS.iter().position(|event| event.1 == name).unwrap();
        let mut bytes = self.number(10 + at as u64, 2);
        bytes.resize(4, 0);
        bytes.extend(self.number(task.into(), 4));
        let mut values = values.iter();
        for (kind, _, count) in EVENTS[at].2 {
            let size = self.bytes_of(kind);
            bytes.resize(bytes.len().next_multiple_of(size), 0);
            if *kind == "char" {
                let Some(Value::Text(text)) = values.next() else { panic!("a text") };
                let mut text = text.as_bytes().to_vec();
                text.resize(*count, 0);
                bytes.extend(text);
                continue;
            }
            for _ in 0..*count {
                let Some(Value::Number(number)) = values.next() else { panic!("a number") };
                bytes.extend(self.number(*number, size));
            }
        }
        bytes
    }

    /// A page that begins at its first event's time; `lost` says that events were lost before it.
    pub(crate) fn page(self, records: &[Record], lost: Option<u64>) -> Vec<u8> {
        let mut data = Vec::new();
        let mut before = records[0].0;
        for (time, name, task, values) in records {
            let delta = time - before;
            assert!(delta < 1 << 27, "no longer way between two events of a page");
            before = *time;
            let record = self.record(name, *task, values);
            let head = if self.is_big { delta } else { delta << 5 };
            data.extend(self.number(head, 4));
            data.extend(self.number(record.len() as u64 + 4, 4));
            data.extend(&record);
            data.resize(data.len().next_multiple_of(4), 0);
        }
        let mut page = self.number(records[0].0, 8);
        let flags = if lost.is_some() { 3 << 30 } else { 0 };
        page.extend(self.number(data.len() as u64 | flags, self.word));
        page.extend(data);
        page.extend(lost.map(|lost| self.number(lost, self.word)).unwrap_or_default());
        assert!(page.len() <= PAGE_BYTES, "a page is full");
        page.resize(PAGE_BYTES, 0);
        page
    }

    fn headers(self) -> Vec<u8> {
        let (word, data) = (self.word, 8 + self.word);
        let page = format!(
            "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
             \tfield: local_t commit;\toffset:8;\tsize:{word};\tsigned:1;\n\
             \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
             \tfield: char data;\toffset:{data};\tsize:{};\tsigned:1;\n",
            PAGE_BYTES - data
        );
        let mut out = b"header_page\0".to_vec();
        out.extend(self.number(page.len() as u64, 8));
        out.extend(page.bytes());
        out.extend(b"header_event\0");
        out.extend(self.number(5, 8));
        out.extend(b"event");
        out
    }

    fn formats(self) -> Vec<u8> {
        let mut out = self.number(EVENTS.len() as u64, 4);
        for (at, (group, ..)) in EVENTS.iter().enumerate() {
            out.extend(group.bytes());
            out.push(0);
            out.extend(self.number(1, 4));
            let format = self.format(at);
            out.extend(self.number(format.len() as u64, 8));
            out.extend(format.bytes());
        }
        out
    }

    fn sized(self, text: &str, bytes: usize) -> Vec<u8> {
        let mut out = self.number(text.len() as u64, bytes);
        out.extend(text.bytes());
        out
    }

    fn option(self, id: u64, data: &[u8]) -> Vec<u8> {
        let mut out = self.number(id, 2);
        out.extend(self.number(data.len() as u64, 4));
        out.extend(data);
        out
    }

    fn common_options(self, clock: &str) -> Vec<u8> {
        let mut out = self.option(4, format!("[{clock}] other\0").as_bytes());
        out.extend(self.option(5, b"Linux board 6.1.0 armv7l\0"));
        out.extend(self.option(9, b"written by a test\0"));
        out
    }

    fn begin(self, version: &str) -> Vec<u8> {
        let mut out = b"\x17\x08\x44tracing".to_vec();
        out.extend(version.bytes());
        out.extend([0, u8::from(self.is_big), self.word as u8]);
        out.extend(self.number(PAGE_BYTES as u64, 4));
        out
    }

    /// A file of version 6; `more` are options besides. The first instance must be the top one.
    pub(crate) fn v6(self, clock: &str, more: &[u8], instances: &[Instance]) -> Vec<u8> {
        let mut out = self.begin("6");
        out.extend(self.headers());
        out.extend(self.number(0, 4));
        out.extend(self.formats());
        out.extend(self.sized(KALLSYMS, 4));
        out.extend(self.sized("", 4));
        out.extend(self.sized("7 sleeper\n8 waker\n", 8));
        out.extend(self.number(instances[0].cpus.len() as u64, 4));
        out.extend(b"options  \0");
        out.extend(self.common_options(clock));
        out.extend(more);
        let mut places = Vec::new();
        for instance in &instances[1..] {
            let mut data = vec![0; 8];
            data.extend(instance.name.bytes());
            data.push(0);
            places.push(out.len() + 6);
            out.extend(self.option(3, &data));
        }
        out.extend(self.number(0, 2));
        for (at, instance) in instances.iter().enumerate() {
            if let Some(place) = at.checked_sub(1).map(|at| places[at]) {
                let here = self.number(out.len() as u64, 8);
                out[place..place + 8].copy_from_slice(&here);
            }
            out.extend(b"flyrecord\0");
            let table = out.len();
            out.resize(table + 16 * instance.cpus.len(), 0);
            for (cpu, pages) in instance.cpus.iter().enumerate() {
                out.resize(out.len().next_multiple_of(PAGE_BYTES), 0);
                let mut entry = self.number(out.len() as u64, 8);
                entry.extend(self.number((pages.len() * PAGE_BYTES) as u64, 8));
                out[table + 16 * cpu..table + 16 * cpu + 16].copy_from_slice(&entry);
                out.extend(pages.concat());
            }
        }
        out
    }

    fn section(self, id: u64, is_packed: bool, data: &[u8]) -> Vec<u8> {
        let mut out = self.number(id, 2);
        out.extend(self.number(is_packed.into(), 2));
        out.extend(self.number(0, 4));
        out.extend(self.number(data.len() as u64, 8));
        out.extend(data);
        out
    }

    fn packed_section(self, id: u64, packing: Packing, data: &[u8]) -> Vec<u8> {
        if packing == Packing::None {
            return self.section(id, false, data);
        }
        let packed = packing.pack(data);
        let mut out = self.number(packed.len() as u64, 4);
        out.extend(self.number(data.len() as u64, 4));
        out.extend(packed);
        self.section(id, true, &out)
    }

    /// A file of version 7, with its options at the end, in two lists.
    pub(crate) fn v7(
        self,
        clock: &str,
        more: &[u8],
        packing: Packing,
        instances: &[Instance],
    ) -> Vec<u8> {
        let mut out = self.begin("7");
        out.extend(packing.name().bytes());
        out.extend(b"\x001.0\0");
        let options_at = out.len();
        out.extend([0; 8]);
        let mut options = self.common_options(clock);
        options.extend(more);
        for (id, data) in [
            (16, self.headers()),
            (18, self.formats()),
            (19, self.sized(KALLSYMS, 4)),
            (21, self.sized("7 sleeper\n8 waker\n", 8)),
        ] {
            options.extend(self.option(id, &self.number(out.len() as u64, 8)));
            out.extend(self.packed_section(id, packing, &data));
        }
        let mut buffers = Vec::new();
        for instance in instances {
            let mut option = self.number(out.len() as u64, 8);
            option.extend(instance.name.bytes());
            option.push(0);
            option.extend(clock.bytes());
            option.push(0);
            option.extend(self.number(PAGE_BYTES as u64, 4));
            option.extend(self.number(instance.cpus.len() as u64, 4));
            out.extend(self.section(3, packing != Packing::None, &[]));
            for (cpu, pages) in instance.cpus.iter().enumerate() {
                out.resize(out.len().next_multiple_of(PAGE_BYTES), 0);
                let from = out.len();
                if packing == Packing::None {
                    out.extend(pages.concat());
                } else if !pages.is_empty() {
                    // Two pages a chunk, so that there are several.
                    out.extend(self.number(pages.len().div_ceil(2) as u64, 4));
                    for pages in pages.chunks(2) {
                        let plain = pages.concat();
                        let packed = packing.pack(&plain);
                        out.extend(self.number(packed.len() as u64, 4));
                        out.extend(self.number(plain.len() as u64, 4));
                        out.extend(packed);
                    }
                }
                option.extend(self.number(cpu as u64, 4));
                option.extend(self.number(from as u64, 8));
                option.extend(self.number((out.len() - from) as u64, 8));
            }
            buffers.extend(self.option(3, &option));
        }
        let second = out.len();
        buffers.extend(self.option(0, &[0; 8]));
        out.extend(self.section(0, false, &buffers));
        let first = self.number(out.len() as u64, 8);
        out[options_at..options_at + 8].copy_from_slice(&first);
        options.extend(self.option(0, &self.number(second as u64, 8)));
        out.extend(self.section(0, false, &options));
        out
    }
}

impl Packing {
    fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Zstd => "zstd",
            Self::Zlib => "zlib",
            Self::Gzip => "gzip",
        }
    }

    fn pack(self, data: &[u8]) -> Vec<u8> {
        let all = |mut reader: Box<dyn Read + '_>| {
            let mut out = Vec::new();
            reader.read_to_end(&mut out).unwrap();
            out
        };
        match self {
            Self::None => data.to_vec(),
            Self::Zstd => zstd::bulk::compress(data, 3).unwrap(),
            Self::Zlib => all(Box::new(ZlibEncoder::new(data, Compression::best()))),
            Self::Gzip => all(Box::new(GzEncoder::new(data, Compression::best()))),
        }
    }
}
