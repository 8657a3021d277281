//! What the houses know of each other: `ARCHITECTURE.md` says it, this holds it.
#![allow(missing_docs)]

use std::fs;
use std::path::{Path, PathBuf};

/// The dependencies that cross from one house into another, by crate and by what it uses.
const CROSSINGS: &[(&str, &[&str])] = &[
    ("diagnosis/explain", &["laboratory/stats"]),
    ("diagnosis/export", &["laboratory/stats"]),
    ("diagnosis/report", &["laboratory/experiment", "laboratory/lab", "laboratory/stats"]),
    // A simulated kernel expires its timers by the policies that are to be compared.
    ("diagnosis/sources/sim", &["timers/engine"]),
    // A prediction asks for a timer policy by its name.
    ("diagnosis/whatif", &["timers/engine"]),
    // What is written goes through one place.
    ("laboratory/experiment", &["diagnosis/files"]),
    // How CPUs are written.
    ("laboratory/host", &["diagnosis/changes"]),
    ("laboratory/lab", &["diagnosis/model", "timers/engine"]),
    // What a remedy does has the name of what is predicted.
    ("laboratory/remedy", &["diagnosis/changes"]),
    ("laboratory/vm", &["diagnosis/files", "diagnosis/programs"]),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn manifest(path: &Path) -> toml::Table {
    let text = fs::read_to_string(path.join("Cargo.toml")).expect("a manifest");
    text.parse().expect("TOML")
}

fn house(path: &str) -> &str {
    path.split('/').next().unwrap_or_default()
}

#[test]
fn a_house_knows_of_another_what_is_written_down() {
    let workspace = manifest(&root());
    let workspace = workspace["workspace"].as_table().expect("a workspace");
    let paths = workspace["dependencies"].as_table().expect("dependencies");
    let path_of = |name: &str| paths.get(name)?.get("path")?.as_str();
    let members = workspace["members"].as_array().expect("members");
    let houses = ["diagnosis", "laboratory", "timers"];
    let mut crossings: Vec<(String, Vec<String>)> = Vec::new();
    for member in members.iter().filter_map(|member| member.as_str()) {
        if !houses.contains(&house(member)) {
            continue;
        }
        let manifest = manifest(&root().join(member));
        let uses = manifest.get("dependencies").and_then(|table| table.as_table());
        let mut others: Vec<String> = uses
            .into_iter()
            .flat_map(|table| table.keys())
            .filter_map(|name| path_of(name))
            .filter(|path| house(path) != house(member))
            .map(str::to_owned)
            .collect();
        others.sort_unstable();
        if !others.is_empty() {
            crossings.push((member.to_owned(), others));
        }
    }
    crossings.sort_unstable();
    let written: Vec<(String, Vec<String>)> = CROSSINGS
        .iter()
        .map(|(from, to)| ((*from).to_owned(), to.iter().map(|to| (*to).to_owned()).collect()))
        .collect();
    assert_eq!(crossings, written);
}
