//! `tardy vm list`: which kernels and programs for guests there are, and which are here.

use crate::failure::{Failure, Outcome};
use crate::output::{self, Output};
use clap::Args;
use serde_json::{Value, json};
use std::io::Write;
use tardy_vm::{Arch, Cache, Kernel, Tools, VmError, on_path};

/// Flags of `tardy vm list`.
#[derive(Debug, Args)]
pub(crate) struct List {
    #[command(flatten)]
    output: Output,
}

impl List {
    pub(crate) fn execute(self) -> Result<Outcome, Failure> {
        let cache = Cache::of_user()?;
        if self.output.json {
            output::write_json(&document(&cache), None)?;
        } else {
            let mut out = output::writer(None);
            out.write_all(text(&cache).as_bytes())?;
            out.finish()?;
        }
        Ok(Outcome::Fine)
    }
}

/// One word for why something cannot be used.
fn state(error: &VmError) -> &'static str {
    match error {
        VmError::Missing { .. } => "missing",
        VmError::Stale { .. } => "stale",
        VmError::Changed { .. } => "changed",
        _ => "unreadable",
    }
}

/// What a line says of something that cannot be used.
fn remedy(error: &VmError) -> String {
    match error {
        VmError::Missing { command, .. } => format!("missing: {command}"),
        VmError::Stale { command, why, .. } => format!("stale, {why}: {command}"),
        _ => error.to_string(),
    }
}

fn qemu_command(arch: Arch) -> String {
    format!("apt-get install -y {}", arch.qemu_package())
}

fn document(cache: &Cache) -> Value {
    let kernels = Kernel::all().iter().map(|kernel| {
        let mut entry = json!({
            "name": kernel.name,
            "arch": kernel.arch.name(),
            "what": kernel.what,
            "rt": kernel.is_rt,
            "matrix": kernel.purpose.is_matrix(),
        });
        let state = match kernel.installed(cache) {
            Ok(installed) => json!({
                "state": "there",
                "release": installed.release,
                "version": installed.version,
                "bytes": installed.bytes,
                "image": installed.image,
                "sha256": installed.image_sha256,
                "modules": installed.modules,
            }),
            Err(error) => refusal(&error),
        };
        extend(&mut entry, state);
        entry
    });
    let tools = Arch::ALL.into_iter().map(|arch| {
        let tools = Tools::of(arch, cache);
        let mut entry = json!({ "name": tools.name(), "arch": arch.name() });
        let state = match tools.installed() {
            Ok(installed) => json!({
                "state": "there",
                "bytes": installed.bytes,
                "packages": installed
                    .packages
                    .iter()
                    .map(|package| json!({ "name": package.name, "version": package.version }))
                    .collect::<Vec<_>>(),
                "programs": installed.programs,
            }),
            Err(error) => refusal(&error),
        };
        extend(&mut entry, state);
        entry
    });
    let qemu = Arch::ALL.into_iter().map(|arch| {
        let path = on_path(arch.qemu());
        let command = path.is_none().then(|| qemu_command(arch));
        json!({
            "name": arch.qemu(),
            "arch": arch.name(),
            "state": if path.is_some() { "there" } else { "missing" },
            "path": path,
            "command": command,
        })
    });
    json!({
        "schema": "tardy.vm/1",
        "folder": cache.path(),
        "kernels": kernels.collect::<Vec<_>>(),
        "tools": tools.collect::<Vec<_>>(),
        "qemu": qemu.collect::<Vec<_>>(),
    })
}

fn refusal(error: &VmError) -> Value {
    json!({ "state": state(error), "why": error.to_string(), "command": error.command() })
}

/// Adds the fields of `more` to `entry`; both are objects.
fn extend(entry: &mut Value, more: Value) {
    if let (Value::Object(entry), Value::Object(more)) = (entry, more) {
        entry.extend(more);
    }
}

fn text(cache: &Cache) -> String {
    let mut rows = vec![["KERNEL", "FOR", "RT", "SIZE", "STATE"].map(str::to_owned)];
    for kernel in Kernel::all() {
        let (size, state) = match kernel.installed(cache) {
            Ok(installed) => (
                super::megabytes(installed.bytes),
                format!("{} ({})", installed.release, installed.version),
            ),
            Err(error) => (String::new(), remedy(&error)),
        };
        let rt = if kernel.is_rt { "yes" } else { "no" };
        rows.push([kernel.name.to_owned(), kernel.arch.to_string(), rt.to_owned(), size, state]);
    }
    rows.push(Default::default());
    rows.push(["PROGRAMS", "FOR", "", "SIZE", "STATE"].map(str::to_owned));
    for arch in Arch::ALL {
        let tools = Tools::of(arch, cache);
        let (size, state) = match tools.installed() {
            Ok(installed) => {
                let names: Vec<_> = installed
                    .packages
                    .iter()
                    .map(|package| format!("{} {}", package.name, package.version))
                    .collect();
                (super::megabytes(installed.bytes), names.join(", "))
            }
            Err(error) => (String::new(), remedy(&error)),
        };
        rows.push([tools.name(), arch.to_string(), String::new(), size, state]);
    }
    rows.push(Default::default());
    rows.push(["EMULATOR", "FOR", "", "", "STATE"].map(str::to_owned));
    for arch in Arch::ALL {
        let state = match on_path(arch.qemu()) {
            Some(path) => path.display().to_string(),
            None => format!("missing: as root, {}", qemu_command(arch)),
        };
        let arch_name = arch.to_string();
        rows.push([arch.qemu().to_owned(), arch_name, String::new(), String::new(), state]);
    }
    format!("{}\nkept in {}\n", table(&rows), cache.path().display())
}

/// Columns as wide as they need to be, the last without end.
fn table(rows: &[[String; 5]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths: Vec<_> = (0..4).map(width).collect();
    let line = |row: &[String; 5]| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}  "));
        let line = format!("{}{}", cells.collect::<String>(), row[4]);
        format!("{}\n", line.trim_end())
    };
    rows.iter().map(line).collect()
}
