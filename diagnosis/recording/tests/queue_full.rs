//! A disk that is too slow for the events: the recording itself tells what it does not have.

mod synthetic;

use synthetic::{Item, defining_batch, number, read_all};
use tardy_model::Kind;
use tardy_recording::{Manifest, ManifestEnd, Options, Writer};

#[test]
fn what_the_queue_drops_is_told_in_the_stream() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options { queue_events_max: 4, ..Options::default() };
    let mut writer = Writer::create_with(dir.path(), Manifest::default(), options).unwrap();
    let mut appended = 0;
    // The writing thread looks every 50 ms: this outruns it at once, whatever the machine.
    while writer.lost_by_queue() < 1000 {
        assert!(appended < 100_000_000, "nothing is ever dropped");
        writer.append(defining_batch(appended)).unwrap();
        appended += 2;
    }
    let sealed = writer.seal(ManifestEnd::default()).unwrap();
    assert!(sealed.lost_by_queue >= 1000);
    assert_eq!(sealed.totals.lost, sealed.lost_by_queue);

    let (items, torn) = read_all(dir.path());
    assert_eq!(torn, None);
    let (mut good, mut told, mut names, mut timers, mut last_ns) = (0, 0, 0, 0, 0);
    for item in items {
        match item {
            Item::Name(..) => names += 1,
            Item::Timer(_) => timers += 1,
            Item::Event(event) => {
                assert!(event.time_ns >= last_ns, "time goes back");
                last_ns = event.time_ns;
                if let Kind::Loss(loss) = event.kind() {
                    assert!(loss.since_ns <= event.time_ns);
                    told += u64::from(loss.count);
                } else {
                    assert!(number(&event).unwrap() / 2 < names, "used before it is defined");
                    good += 1;
                }
            }
        }
    }
    assert_eq!((good + told, told), (appended, sealed.lost_by_queue));
    assert_eq!((names, timers), (appended / 2, appended / 2), "no definition is dropped");
}
