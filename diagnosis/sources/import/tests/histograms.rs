//! Histograms of other tools: files as those write them, damaged ones, and any bytes.

use proptest::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};
use tardy_import::histogram::{self, Histograms};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/histogram").join(name)
}

fn read(name: &str) -> Histograms {
    histogram::open(&data(name)).unwrap()
}

fn read_bytes(bytes: &[u8]) -> Result<Histograms, String> {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), bytes).unwrap();
    histogram::open(file.path()).map_err(|error| error.to_string())
}

/// Count, minimum, mean, maximum in µs.
fn figures(histograms: &Histograms) -> Vec<(u64, u64, f64, u64)> {
    let row = |row: &histogram::Row| {
        let us = |ns: Option<u64>| ns.unwrap() / 1_000;
        (row.count, us(row.min_ns), row.mean_ns.unwrap() / 1e3, us(row.max_ns))
    };
    histograms.rows.iter().map(row).collect()
}

/// By adding up the file's columns (awk).
const ZYNQ_MEANS_US: [f64; 2] = [26.959, 29.122];

#[test]
fn sixteen_hours_on_a_zynq() {
    let histograms = read("zynq-2016-timer-load.hist");
    assert_eq!(
        (histograms.tool, histograms.unit_ns, histograms.bin_ns),
        ("cyclictest", 1000, 1000)
    );
    // The file's means are 26 and 29; those of its bins are not cut.
    let rounded: Vec<_> = figures(&histograms)
        .into_iter()
        .map(|(count, min, mean, max)| (count, min, (mean * 1e3).round() / 1e3, max))
        .collect();
    assert_eq!(
        rounded,
        [(243_037_975, 11, ZYNQ_MEANS_US[0], 164), (243_037_770, 11, ZYNQ_MEANS_US[1], 154)]
    );
    assert_eq!(histograms.notes, Vec::<String>::new());
    // By adding up the file's columns by hand (awk).
    let quantiles = |row: usize| {
        [5_000, 9_900, 9_990, 9_999].map(|of| histograms.rows[row].quantile_ns(of, 1000).unwrap())
    };
    assert_eq!(quantiles(0), [27_000, 52_000, 67_000, 90_000]);
    assert_eq!(quantiles(1), [29_000, 53_000, 69_000, 90_000]);
}

#[test]
fn cyclictest_to_a_file_and_to_a_terminal() {
    let file = read("cyclictest-2.40.hist");
    assert_eq!(figures(&file), [(300, 18, 34.0, 1205), (300, 21, 40.0, 695)]);
    assert_eq!((file.rows[0].over, file.rows[1].over), (106, 228));
    assert_eq!(file.rows[0].quantile_ns(5_000, file.bin_ns), Some(27_000));
    assert_eq!(file.rows[1].quantile_ns(5_000, file.bin_ns), None, "it lies above the bins");
    assert!(matches!(&file.notes[..], [note] if note.contains("cut to whole")), "{:?}", file.notes);

    let stdout = read("cyclictest-2.40-stdout.hist");
    assert_eq!(figures(&stdout), [(200, 16, 26.0, 64), (200, 14, 16.125, 27)]);
    // Not quiet, it shows the threads before.
    let shown = fs::read(data("cyclictest-2.40-stdout.hist")).unwrap();
    let loud = [
        &b"policy: fifo: loadavg: 3.09 2.97 1.76 1/94 18360          \n\n\
           T: 0 (18359) P:80 I:1000 C:      0 Min:1000000 Act:    0 Avg:    0 Max:       0\n\
           \x1b[1AT: 0 (18359) P:80 I:1000 C:     10 Min:     21 Act:   55 Avg:   31 Max:   55\n"[..],
        &shown,
    ];
    let loud = read_bytes(&loud.concat()).unwrap();
    let row = &loud.rows[0];
    assert_eq!((row.pid, row.prio, row.interval_ns), (Some(18_359), Some(80), Some(1_000_000)));
    assert_eq!(loud.rows[1].pid, None);
    assert_eq!(figures(&loud), figures(&stdout));
}

#[test]
fn what_cyclictest_shows_while_it_runs() {
    let text = "# /dev/cpu_dma_latency set to 0us\n\
        policy: fifo: loadavg: 3.09 2.97 1.76 1/94 18360\n\n\
        > T: 0 (18359) P:80 I:1000 C:     10 Min:     21 Act:   55 Avg:   31 Max:      55\n\
        > T: 1 (18360) P:80 I:1500 C:      7 Min:     14 Act:   15 Avg:   16 Max:      27\n\
        \x1b[2AT: 0 (18359) P:80 I:1000 C:  10000 Min:      2 Act:    3 Avg:    3 Max:      12\n";
    let histograms = read_bytes(text.as_bytes()).unwrap();
    assert_eq!(figures(&histograms), [(10_000, 2, 3.0, 12), (7, 14, 16.0, 27)]);
    let row = &histograms.rows[1];
    assert_eq!((row.pid, row.prio, row.interval_ns), (Some(18_360), Some(80), Some(1_500_000)));
    assert_eq!(row.quantile_ns(5_000, histograms.bin_ns), None);
    assert!(matches!(&histograms.notes[..], [note] if note.contains("no bins")));
}

#[test]
fn a_table_that_a_mail_quotes() {
    for name in ["rtla-timerlat-6.1.txt", "rtla-osnoise-6.1.txt", "cyclictest-2.40.hist"] {
        let text = fs::read_to_string(data(name)).unwrap();
        let quoted: Vec<String> = text.lines().map(|line| format!("> > {line}")).collect();
        let mail = format!("On Monday somebody wrote:\n{}\n", quoted.join("\n"));
        assert_eq!(read_bytes(mail.as_bytes()).unwrap(), read(name), "{name}");
    }
}

#[test]
fn cyclictest_json() {
    let us = read("cyclictest-2.40.json");
    assert_eq!((us.version.as_str(), us.unit_ns), ("2.40", 1_000));
    assert!(us.command_line.starts_with("cyclictest -q -m -t 2"), "{}", us.command_line);
    assert_eq!(figures(&us), [(1000, 18, 38.0, 2976), (1000, 18, 31.2, 619)]);
    assert_eq!(
        us.rows.iter().map(|row| (row.over, row.cpu)).collect::<Vec<_>>(),
        [(25, Some(0)), (6, Some(1))]
    );
    let ns = read("cyclictest-2.40-nanoseconds.json");
    assert_eq!(
        (ns.unit_ns, ns.rows[0].min_ns, ns.rows[0].max_ns),
        (1, Some(21_901), Some(206_879))
    );
    assert_eq!((ns.rows[0].count, ns.rows[0].over), (200, 2));
    assert!(ns.rows[0].bins.contains_key(&22_292));

    let text = fs::read_to_string(data("cyclictest-2.40.json")).unwrap();
    let fewer =
        read_bytes(text.replacen("\"cycles\": 1000", "\"cycles\": 7", 1).as_bytes()).unwrap();
    assert!(
        fewer.notes[0].contains("counts 7 samples, but its bins have 975"),
        "{:?}",
        fewer.notes
    );
}

#[test]
fn oslat_as_text_and_json() {
    let text = read("oslat-2.40.txt");
    let json = read("oslat-2.40.json");
    assert_eq!((text.version.as_str(), json.version.as_str()), ("2.40", "2.40"));
    for both in [&text, &json] {
        assert_eq!(both.rows[1].cpu, Some(1));
        assert_eq!(both.rows.iter().map(|row| row.over).collect::<Vec<_>>(), [375, 320]);
        let row = &both.rows[0];
        assert_eq!((row.min_ns, row.max_ns), (Some(1_000), Some(32_090_000)));
        assert_eq!(row.count, 25_973_585);
        assert_eq!(row.bins[&0], 25_972_965, "what took 1 µs at most");
        assert_eq!(row.quantile_ns(5_000, both.bin_ns), Some(1_000));
        assert_eq!(both.notes.len(), 1, "{:?}", both.notes);
    }
    assert_eq!(text.rows[0].bins, json.rows[0].bins);
    let bias = read("oslat-2.40-bias.txt");
    assert_eq!((bias.rows[0].over, bias.rows[0].bins[&1_000]), (171, 22_856_979));
    assert_eq!(read("oslat-2.40-quiet.txt").rows[1].over, 113);
    let fifo = fs::read_to_string(data("oslat-2.40.txt")).unwrap();
    let fifo = read_bytes(fifo.replace("\tdefault", "\tSCHED_FIFO:7").as_bytes()).unwrap();
    assert_eq!((fifo.rows[0].policy, fifo.rows[0].prio), (Some("fifo"), Some(7)));
}

#[test]
fn rtla_timerlat_of_two_generations() {
    let old = read("rtla-timerlat-6.1.txt");
    let names: Vec<_> = old.rows.iter().map(|row| (row.name.as_str(), row.cpu)).collect();
    assert_eq!(
        names,
        [("IRQ-000", Some(0)), ("Thr-000", Some(0)), ("IRQ-001", Some(1)), ("Thr-001", Some(1))]
    );
    assert_eq!(figures(&old)[..2], [(100, 0, 0.0, 260), (100, 1, 3.0, 301)]);
    assert_eq!((old.unit_ns, old.bin_ns, old.rows[1].over), (1_000, 1_000, 2));
    assert_eq!(old.rows[1].bins[&12_000], 1);
    assert_eq!(old.notes, Vec::<String>::new());

    let new = read("rtla-timerlat-6.12-user.txt");
    assert_eq!((new.unit_ns, new.bin_ns, new.rows.len()), (1, 500, 3));
    assert_eq!((new.rows[2].name.as_str(), new.rows[2].count), ("Usr-003", 99));
    assert_eq!(new.rows[0].quantile_ns(5_000, new.bin_ns), Some(1_500));
    assert_eq!(new.rows[0].quantile_ns(9_999, new.bin_ns), Some(1_811), "no more than the most");
    assert!(new.notes[0].contains("multiples of 500 ns"), "{:?}", new.notes);
}

#[test]
fn rtla_osnoise() {
    let some = read("rtla-osnoise-6.1.txt");
    assert_eq!((some.rows[1].name.as_str(), some.rows[1].count), ("CPU-001", 1349));
    assert_eq!(some.rows[0].mean_ns, Some(1_060.0));
    assert_eq!(some.notes.len(), 1, "{:?}", some.notes);
    assert!(read("rtla-osnoise-6.12-empty.txt").rows.is_empty());
}

#[test]
fn hwlatdetect_and_its_report_file() {
    let all = read("hwlatdetect-2.4.txt");
    let report = read("hwlatdetect-2.4-report.txt");
    for both in [&all, &report] {
        let row = &both.rows[0];
        assert_eq!((row.count, row.min_ns, row.max_ns), (3, Some(12_000), Some(35_000)));
        assert_eq!(row.bins[&14_000], 1);
    }
    assert!(all.notes.concat().contains("threshold of 10 µs"), "{:?}", all.notes);
    assert!(all.notes.concat().contains("2 system management interrupts"), "{:?}", all.notes);
    let below = read("hwlatdetect-2.4-below.txt");
    assert_eq!((below.rows[0].count, below.rows[0].max_ns), (0, None));
}

/// Damage, and a piece of what is said of it.
#[test]
fn what_is_broken_is_said_once_with_its_place() {
    let file = |name: &str| fs::read_to_string(data(name)).unwrap();
    let zynq = file("zynq-2016-timer-load.hist");
    let timerlat = file("rtla-timerlat-6.1.txt");
    let huge = "18446744073709551616";
    for (text, said) in [
        (String::new(), "has no histograms"),
        ("hello\n".to_owned(), "has no histograms"),
        (zynq.replacen("000002 ", "000003 ", 1), "line 4: bin 3 where 2 was due"),
        (zynq.replacen("000001 000000", "000001 x", 1), "line 3: `x` is not a count"),
        (zynq.replacen("000001 000000\t", "000001 ", 1), "line 3: 2 columns, others have 3"),
        (zynq.replace("# Min", "# Mim"), "ends without `# Min Latencies:`"),
        (zynq.replace("# Min Latencies: 00011 00011", "# Min Latencies: 1"), "1 threads by their"),
        (zynq.replacen("000001 000000", &format!("000001 {huge}"), 1), "is not a count"),
        (zynq.replace("00164 00154", "9999999999999999999 2"), "584 years"),
        (
            zynq.replacen("000001 000000", "000001 18446744073709551615", 1),
            "thread 0 add up to more than 2^64",
        ),
        (timerlat.replace("IRQ-001", "NMI-001"), "`NMI-001` is no column"),
        (timerlat.replace("1         2         0 ", "1 2 "), "line 10: 3 values for 4 columns"),
        (timerlat.replace("over:", "under:"), "ends without its line `over:`"),
        (file("cyclictest-2.40.json").replace("\"18\": 7", "\"18\": -7"), "`18` is not a count"),
        (file("cyclictest-2.40.json").replace("\"cycles\": 1000", "\"cycle\": 1"), "no number of"),
        (
            file("cyclictest-2.40.json").replace("\"thread\": {", "\"thread\": 1, \"x\": {"),
            "no object",
        ),
        (file("oslat-2.40.txt").replace("77 134", "77"), "1 values for 2 CPUs"),
        (file("oslat-2.40.txt").replace("Maximum", "Maximal"), "ends without its line `Maximum:`"),
        (file("hwlatdetect-2.4.txt").replace("outer:35", "outer:"), "`` is not a count"),
        (file("hwlatdetect-2.4.txt").replace("inner:12,", ""), "a sample without `inner:`"),
    ] {
        let error = read_bytes(text.as_bytes()).unwrap_err();
        assert!(error.contains(said), "{said}: {error}");
        assert!(!error.contains('\n'), "{error}");
    }
}

#[test]
fn files_that_contradict_themselves_say_so() {
    let file = |name: &str| fs::read_to_string(data(name)).unwrap();
    for (text, said) in [
        (
            file("zynq-2016-timer-load.hist").replace("# Total: 243037975", "# Total: 5"),
            "thread 0: the file's total is 5, its bins hold 243037975",
        ),
        (
            file("zynq-2016-timer-load.hist")
                .replace("Max Latencies: 00164", "Max Latencies: 00100"),
            "thread 0: the file gives 100000 ns as the maximum, but the last bin with a count begins at 164000 ns",
        ),
        (
            file("zynq-2016-timer-load.hist")
                .replace("Min Latencies: 00011", "Min Latencies: 00002"),
            "thread 0: the file gives 2000 ns as the minimum",
        ),
        (
            file("rtla-timerlat-6.1.txt").replace("count:      100", "count:       99"),
            "IRQ-000: the tool counts 99 samples, but its bins have 100",
        ),
        (
            file("hwlatdetect-2.4.txt").replace("Max Latency: 35us", "Max Latency: 40us"),
            "the file gives 40000 ns as the maximum, but the listed samples have 35000 ns",
        ),
    ] {
        let notes = read_bytes(text.as_bytes()).unwrap().notes;
        assert!(notes.iter().any(|note| note.contains(said)), "{said}: {notes:?}");
    }
}

#[test]
fn a_line_without_end_is_not_read_into_memory() {
    let mut text = b"# Histogram\n0 ".to_vec();
    text.resize(3 << 20, b'1');
    assert!(read_bytes(&text).unwrap_err().contains("longer than"));
}

fn all_files() -> Vec<Vec<u8>> {
    let mut files: Vec<_> =
        fs::read_dir(data("")).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let files = files.into_iter().filter(|path| path.extension().is_some_and(|end| end != "md"));
    files.map(|path| fs::read(path).unwrap()).collect()
}

proptest! {
    #[test]
    fn any_damage_is_read_or_refused(
        which in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        with in prop::collection::vec(any::<u8>(), 0..12),
        cut in any::<bool>(),
    ) {
        let files = all_files();
        let mut bytes = files[which.index(files.len())].clone();
        let at = at.index(bytes.len());
        if cut {
            bytes.truncate(at);
        }
        let end = (at + with.len()).min(bytes.len());
        bytes.splice(at.min(end)..end, with);
        if let Ok(histograms) = read_bytes(&bytes) {
            for row in &histograms.rows {
                let quantiles = [1, 5_000, 9_999, 10_000].map(|of| row.quantile_ns(of, histograms.bin_ns));
                let told: Vec<u64> = quantiles.into_iter().flatten().collect();
                prop_assert!(told.is_sorted(), "{:?}", quantiles);
            }
        }
    }

    /// Digits in place of digits: counts that are too large, of every size.
    #[test]
    fn hostile_numbers(
        which in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        number in prop_oneof![any::<u64>(), Just(u64::MAX), Just(u64::MAX / 1000)],
    ) {
        let files = all_files();
        let text = String::from_utf8(files[which.index(files.len())].clone()).unwrap();
        let words: Vec<_> = text.split_inclusive(|c: char| !c.is_ascii_digit()).collect();
        let at = at.index(words.len());
        let text: String = words
            .iter()
            .enumerate()
            .map(|(index, word)| {
                if index == at {
                    number.to_string() + word.trim_start_matches(|c: char| c.is_ascii_digit())
                } else {
                    (*word).to_owned()
                }
            })
            .collect();
        let _ = read_bytes(text.as_bytes());
    }
}
