//! Does `tardy load` say what there is, and what each load has done?

use crate::machine::Machine;
use crate::program::{Said, tardy};

#[test]
fn the_list_has_every_load_and_every_mix_and_each_of_them_is_understood() {
    let document = Said::by(&mut tardy(["load", "list", "--json"])).expect(0).json();
    assert_eq!(document["schema"], "tardy.loads/1");
    let loads = document["loads"].as_array().unwrap();
    let text = Said::by(&mut tardy(["load", "list"])).expect(0).out;
    for load in loads {
        let usage = load["usage"].as_str().unwrap();
        assert!(text.contains(usage), "{usage} is not in\n{text}");
        assert!(!load["summary"].as_str().unwrap().is_empty());
    }
    let mixes = document["mixes"].as_array().unwrap();
    assert!(loads.len() >= 4 && mixes.len() >= 2);
    for mix in mixes {
        let name = format!("mix:{}", mix["name"].as_str().unwrap());
        assert!(text.contains(&name), "{name} is not in\n{text}");
    }
    for verb in [&["load"][..], &["run"], &["measure", "cyclic"]] {
        let help = Said::by(&mut tardy(verb.iter().chain(&["--help"]))).expect(0).out;
        for load in loads {
            let name = load["name"].as_str().unwrap();
            assert!(help.contains(name), "{name} is not in the help of {verb:?}\n{help}");
        }
    }
}

#[test]
fn each_load_of_several_has_a_line_with_its_rate() {
    let _machine = Machine::alone();
    let arguments = ["load", "storm:3+timers:2,kind=futex+mix:rearm", "-D", "300ms"];
    let said = Said::by(&mut tardy(arguments)).expect(0);
    let lines: Vec<_> = said.out.lines().collect();
    assert_eq!(lines.len(), 4, "{}", said.out);
    for (line, load) in lines[1..].iter().zip(["storm:3:", "timers:2,kind=futex:", "mix:rearm:"]) {
        assert!(line.trim().starts_with(load) && line.contains(" a second"), "{line}");
    }
    let json = Said::by(tardy(arguments).arg("--json")).expect(0).json();
    assert_eq!(json["schema"], "tardy.load/1");
    assert_eq!(json["work"][1]["done"][0]["unit"], "timeouts");
    assert!(json["work"][0]["done"][0]["count"].as_u64().unwrap() > 0);
}

#[test]
fn a_policy_for_all_goes_to_those_that_have_one_and_somebody_is_told() {
    let _machine = Machine::alone();
    let said = Said::by(&mut tardy(["load", "irq:1,kind=softirq", "--fifo", "-D", "100ms"]));
    let said = said.expect(2);
    assert!(said.err.contains("no option `fifo=1`") || said.err.contains("no option `fifo`"));
    let said = Said::by(&mut tardy(["load", "storm:1+irq,kind=softirq", "--fifo", "-D", "100ms"]));
    if said.err.contains("was refused") {
        eprintln!("skipped: {}", said.err);
        return;
    }
    let said = said.expect(0);
    assert!(said.out.contains("storm:1,fifo=1+irq"), "{}", said.out);
    assert!(said.err.contains("--fifo has no effect on irq:1"), "{}", said.err);
}
