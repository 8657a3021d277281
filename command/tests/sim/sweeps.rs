//! Sweeps and tables of what was simulated, and machines fitted to tables.

use super::{json, tardy};

fn said(arguments: &[&str]) -> (Option<i32>, String) {
    let output = tardy(arguments);
    let text = [output.stdout, output.stderr].map(|out| String::from_utf8_lossy(&out).into_owned());
    (output.status.code(), text.concat())
}

#[test]
fn a_sweep_is_a_table_and_a_picture() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let (table, picture) = (path("swept.csv"), path("swept.svg"));
    let sweep = ["sim", "storm", "-D", "200ms", "--runs", "1", "--quiet"];
    let sweep = [&sweep[..], &["--over", "thread.storm.count=1,20"]].concat();
    let (status, text) = said(&[&sweep[..], &["--csv", &table, "--plot", &picture]].concat());
    assert_eq!(status, Some(0), "{text}");
    let rows = std::fs::read_to_string(&table).expect("a table");
    for row in ["hardirq-1,1,hardirq,cyclic,", "deferred-20,20,deferred,cyclic,"] {
        assert!(rows.contains(row), "{row}: {rows}");
    }
    let drawn = std::fs::read_to_string(&picture).expect("a picture");
    assert!(drawn.contains(">hardirq, n") && drawn.contains(">deferred, n"), "{drawn}");
    // The same is a prediction of itself, a smaller storm's is none of it.
    let judged = said(&["compare", &table, &table, "--within", "mean=1%,p99=1%,max=1%"]);
    assert_eq!(judged.0, Some(0), "{}", judged.1);
    let document = json(&[&sweep[..], &["--json"]].concat());
    let policies = document["policies"].as_array().expect("a list");
    assert_eq!((policies.len(), &policies[1]["condition"]), (4, &"1".into()));
    assert!(policies[2]["condition"] == "20" && policies[2]["policy"] == "hardirq");
}

#[test]
fn what_cannot_vary_is_said() {
    for (over, why) in [
        ("thread.calm.count=1", "there is no calm"),
        ("thread.storm.count", "varies nothing"),
        ("thread.storm.count=many", "condition many"),
        ("machine.cpus=0", "1 to 64 CPUs"),
    ] {
        let (status, text) = said(&["sim", "storm", "-D", "1ms", "--over", over]);
        assert!(matches!(status, Some(1 | 2)), "{text}");
        assert!(text.contains(why), "{over}: {text}");
    }
}

#[test]
fn a_cost_is_found_again_from_figures_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let system = |switch: &str, free: &str| {
        format!(
            "span = '200ms'\n{free}\n[machine]\nswitch = '{switch}'\nwakeup = '1us'\n[[thread]]\n\
             name = 'cyclic'\npolicy = 'fifo:9'\nprogram = [{{ sleep-grid = {{ period = '1ms' }} }}]\n\
             watched = true\n"
        )
    };
    let (truth, free, table, machine) =
        (path("truth.toml"), path("free.toml"), path("truth.csv"), path("machine.toml"));
    std::fs::write(&truth, system("2345ns", "")).expect("a file");
    let range = "[free]\nswitch = ['100ns', '1us', '9us']";
    // A table comes before others' entries in TOML, so it goes last.
    let text = format!("{}{range}\n", system("{switch}", "").replace("'{switch}'", "\"{switch}\""));
    std::fs::write(&free, text).expect("a file");
    assert_eq!(said(&["sim", &truth, "--csv", &table]).0, Some(0));
    let fitted = json(&["sim", "fit", &free, "--to", &table, "--json", "-q", "-o", &machine]);
    let value = fitted["values"]["switch"].as_str().expect("a text");
    let ns: f64 = value.trim_end_matches("ns").parse().expect("a number");
    assert!((ns - 2_345.0).abs() < 30.0, "{value}");
    let text = std::fs::read_to_string(&machine).expect("a machine");
    assert!(
        text.contains(&format!("switch = \"{value}\"")) && text.contains("truth.csv"),
        "{text}"
    );
    let (status, text) = said(&["sim", "fit", &truth, "--to", &table]);
    assert!(status == Some(2) && text.contains("has no free parameter"), "{text}");
}
