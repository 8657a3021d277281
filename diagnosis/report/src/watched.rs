//! What a watch kept, as one page that leads to the page of each.

use crate::clean::clean;
use crate::page::document;
use crate::units::{counted, duration};
use maud::html;

/// What a watch counted, and what it kept.
#[derive(Clone, Debug, Default)]
pub struct Watched {
    /// The command that watched, as typed.
    pub command_line: String,
    /// How it went: a sentence each.
    pub sentences: Vec<String>,
    /// The worst first.
    pub kept: Vec<WatchedRow>,
}

/// One that was kept.
#[derive(Clone, Debug, Default)]
pub struct WatchedRow {
    /// When it ran, by the clock on the wall.
    pub when: String,
    /// Its name.
    pub thread: String,
    /// How late it was.
    pub lateness_ns: u64,
    /// The cause that took most.
    pub cause: String,
    /// Who did most of that; empty where nobody is known.
    pub culprit: String,
    /// Its recording, below the folder that the page is in.
    pub recording: String,
    /// The page of its recording, from there too.
    pub page: String,
}

/// The page.
pub fn watched_page(watched: &Watched) -> String {
    let title = match watched.kept.first() {
        None => "Nobody was late".to_owned(),
        Some(worst) => format!(
            "{} kept, the worst {}",
            counted(watched.kept.len() as u64, "late wakeup"),
            duration(worst.lateness_ns)
        ),
    };
    document(
        &title,
        &html! {
            header {
                h1 { (title) }
                p.facts { span { "$ " (clean(&watched.command_line)) } }
                ul.sentences { @for sentence in &watched.sentences { li { (clean(sentence)) } } }
            }
            section {
                table {
                    thead { tr {
                        th { "when" } th { "thread" } th.number { "late" } th { "mostly" } th { "by" }
                        th { "recording" }
                    } }
                    tbody { @for row in &watched.kept { tr {
                        td { (clean(&row.when)) }
                        td { bdi { (clean(&row.thread)) } }
                        td.number { (duration(row.lateness_ns)) }
                        td { (clean(&row.cause)) }
                        td { bdi { (clean(&row.culprit)) } }
                        td { a href=(row.page) { (clean(&row.recording)) } }
                    } } }
                }
            }
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_leads_to_its_page_and_names_are_no_markup() {
        let row = WatchedRow {
            thread: "<b>tick".to_owned(),
            lateness_ns: 512_000,
            recording: "late-3".to_owned(),
            page: "late-3/report.html".to_owned(),
            ..WatchedRow::default()
        };
        let page = watched_page(&Watched { kept: vec![row], ..Watched::default() });
        assert!(page.contains("1 late wakeup kept, the worst 512.0 µs"), "{page}");
        assert!(page.contains(r#"<a href="late-3/report.html">late-3</a>"#), "{page}");
        assert!(page.contains("&lt;b&gt;tick") && !page.contains("<b>tick"), "{page}");
        assert!(watched_page(&Watched::default()).contains("Nobody was late"));
    }
}
