//! Tables of figures: a prediction beside what was measured, and curves drawn of them.

use super::{compare, json, refused, zynq};
use std::path::Path;
use std::process::Command;

fn table(folder: &Path, name: &str, rows: &str) -> String {
    let path = folder.join(name);
    let head = "# tardy figures 1\n# experiment: stacking-curve\ncondition,threads,series,mean_ns,max_ns\n";
    std::fs::write(&path, format!("{head}{rows}")).expect("a file");
    path.to_str().expect("UTF-8").to_owned()
}

#[test]
fn a_prediction_beyond_its_bound_ends_with_3() {
    let folder = tempfile::tempdir().expect("a folder");
    let measured =
        table(folder.path(), "measured.csv", "idle,0,a,7000,9000\nhard,40,a,9000,28000\n");
    let predicted = table(folder.path(), "predicted.csv", "idle,,,7100,9900\nhard,,,9400,40000\n");
    let both = [measured.as_str(), predicted.as_str()];
    let document = json(&both);
    assert_eq!(document["schema"], "tardy.predicted/1");
    assert_eq!(document["errors"].as_array().expect("errors").len(), 4);
    let judged = |bounds| {
        let output = compare(&[both[0], both[1], "--within", bounds]);
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (status, said) = judged("mean=5%,max=20%");
    assert_eq!(status, Some(3), "{said}");
    assert!(said.contains("3 of 4 figures are within their bounds"), "{said}");
    assert_eq!(judged("mean=5%,max=50%").0, Some(0));
    assert!(refused(2, &[&measured, &zynq()]).contains("contains no distribution"));
    assert!(refused(2, &[&zynq(), &zynq(), "--within", "mean=5%"]).contains("--fail-over"));
}

#[test]
fn curves_of_tables_are_a_picture_by_themselves() {
    let folder = tempfile::tempdir().expect("a folder");
    let measured =
        table(folder.path(), "measured.csv", "idle,0,a,7000,9000\nhard,40,a,9000,28000\n");
    let picture = folder.path().join("curves.svg");
    let report = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tardy"));
        command.arg("report").args(arguments).output().expect("the command starts")
    };
    let output = report(&[&measured, &measured, "--plot", picture.to_str().expect("UTF-8")]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let drawn = std::fs::read_to_string(&picture).expect("a picture");
    assert!(drawn.contains("<svg xmlns=\"http://www.w3.org/2000/svg\""));
    assert_eq!(drawn.matches("class=\"most line-1\"").count(), 3, "two points and the legend's");
    for (arguments, said) in [
        (&[measured.as_str()][..], "--plot FILE.svg draws its curves"),
        (&[&measured, &measured], "one recording or file at a time"),
        (&[&measured, "--csv", "x.csv"], "--csv is for experiments"),
    ] {
        let output = report(arguments);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains(said), "{error}");
    }
}
