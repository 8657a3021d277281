//! Any entry of a file made a name that conditions fill in, by its path: `machine.switch`,
//! `thread.storm.count`.

use toml::{Table, Value};

/// The text with `{PATH}` in the place of an entry; entries of lists go by their `name`. An entry that is not there
/// is added. Remarks are lost, and lines are others.
///
/// # Errors
/// Where there is no such place, or the text is no table.
pub(super) fn opened(text: &str, path: &str) -> Result<String, String> {
    let mut table: Table = text
        .parse()
        .map_err(|error: toml::de::Error| error.message().trim().replace('\n', "; "))?;
    let (way, last) = path.rsplit_once('.').ok_or_else(|| missing(path, path))?;
    let mut place = &mut table;
    let mut parts = way.split('.');
    while let Some(part) = parts.next() {
        // These may be left out.
        if matches!(part, "machine" | "kernel") && !place.contains_key(part) {
            place.insert(part.to_owned(), Value::Table(Table::new()));
        }
        place = match place.get_mut(part) {
            Some(Value::Table(table)) => table,
            Some(Value::Array(entries)) => {
                let name = parts.next().ok_or_else(|| missing(part, path))?;
                let mut tables = entries.iter_mut().filter_map(Value::as_table_mut);
                let is_it =
                    |one: &&mut Table| one.get("name").and_then(Value::as_str) == Some(name);
                tables.find(is_it).ok_or_else(|| missing(name, path))?
            }
            _ => return Err(missing(part, path)),
        };
    }
    place.insert(last.to_owned(), Value::String(format!("{{{path}}}")));
    toml::to_string(&table).map_err(|error| error.to_string())
}

fn missing(part: &str, path: &str) -> String {
    format!(
        "{path}: there is no {part} in the file; what varies is a name in braces, or an entry as \
         machine.switch, kernel.hz, thread.NAME.count, device.NAME.every"
    )
}
