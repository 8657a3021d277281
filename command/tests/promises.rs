//! Every promise in the docs names a test that there is.
#![allow(missing_docs)]

use std::fs;
use std::path::Path;

#[test]
fn every_promise_has_its_test() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let page = fs::read_to_string(root.join("docs/reference/promises.md")).expect("the page");
    // Below its heads and their line; other tables tell figures.
    let table = page.lines().skip_while(|line| !line.starts_with("| what happens")).skip(2);
    let rows = table.take_while(|line| line.starts_with("| "));
    let mut promises = 0;
    for row in rows {
        let named = row.rsplit('`').nth(1).expect("a test in backticks");
        let (file, test) = named.split_once(": ").expect("a file and a test");
        let source = fs::read_to_string(root.join(file)).expect(file);
        let is_test = source.split("#[test]").skip(1).any(|after| {
            let head = after.split('{').next().unwrap_or_default();
            head.contains(&format!("fn {test}("))
        });
        assert!(is_test, "{named} is no test");
        promises += 1;
    }
    assert!(promises > 20, "{promises}");
}
