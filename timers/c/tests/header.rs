//! The header that is installed says what the library has.
//!
//! `TARDY_WRITE_HEADER=1 cargo test -p tardy-timers-c --test header` writes it anew.

use std::fs;
use std::path::Path;

#[test]
fn the_header_is_what_the_sources_make() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(folder.join("cbindgen.toml")).expect("a good config");
    // From the file, not the crate: that needs neither cargo nor a network.
    let builder = cbindgen::Builder::new().with_config(config).with_src(folder.join("src/lib.rs"));
    let mut made = Vec::new();
    builder.generate().expect("sources that cbindgen reads").write(&mut made);
    let made = String::from_utf8(made).expect("text");

    let header = folder.join("include/tardy_timers.h");
    if std::env::var_os("TARDY_WRITE_HEADER").is_some() {
        fs::write(&header, &made).expect("the header can be written");
    }
    let there = fs::read_to_string(&header).unwrap_or_default();
    assert!(
        there == made,
        "include/tardy_timers.h is not what the sources make; write it anew:\n    \
         TARDY_WRITE_HEADER=1 cargo test -p tardy-timers-c --test header"
    );
}
