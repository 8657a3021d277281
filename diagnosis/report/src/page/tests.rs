//! The page as a whole: nothing foreign runs, nothing is fetched.

use super::*;
use crate::data::Context;
use crate::fixture;
use tardy_explain::Explanation;

fn fixture_page() -> String {
    fixture::with_data(page)
}

/// The page without its own style and script, which may hold any character.
fn markup_of(page: &str) -> String {
    page.replace(STYLE, "").replace(SCRIPT, "")
}

#[test]
fn names_are_never_markup() {
    let attacks =
        ["<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "' onload='x", "]]>&lt;"];
    for attack in attacks {
        let mut explanation = fixture::explanation();
        let mut measurement = fixture::measurement();
        for victim in &mut explanation.victims {
            attack.clone_into(&mut victim.label.name);
        }
        for culprit in &mut explanation.culprits {
            attack.clone_into(&mut culprit.label.name);
        }
        for worst in &mut explanation.worst {
            attack.clone_into(&mut worst.victim.name);
            worst.labels.values_mut().for_each(|label| attack.clone_into(&mut label.name));
            let spans = worst.lanes.iter_mut().flat_map(|lane| &mut lane.spans);
            spans.for_each(|span| attack.clone_into(&mut span.label.name));
        }
        for group in &mut explanation.groups {
            attack.clone_into(&mut group.group.name);
        }
        for advice in &mut explanation.advice {
            attack.clone_into(&mut advice.text);
            advice.command = Some(attack.to_owned());
        }
        for thread in &mut measurement.threads {
            attack.clone_into(&mut thread.name);
        }
        let context = Context {
            title: attack.to_owned(),
            command_line: attack.to_owned(),
            kernel: attack.to_owned(),
            host: attack.to_owned(),
            hypervisor: Some(attack.to_owned()),
            load: Some(attack.to_owned()),
            source: attack.to_owned(),
            recording: Some(attack.into()),
            caught: None,
            page: Some(attack.into()),
            recorded_command: String::new(),
            policy_refused: Some(attack.to_owned()),
            is_cut_short: true,
            whom: attack.to_owned(),
            ended: std::collections::BTreeSet::new(),
            again: attack.to_owned(),
            notes: vec![attack.to_owned()],
            duration_ns: 1,
        };
        let mut data = Data::new(&context);
        data.explanation = Some(&explanation);
        data.measurement = Some(&measurement);
        let page = page(&data);
        let markup = markup_of(&page);
        // maud leaves ' alone, which is data inside "": only a raw <, > or " would break out.
        if attack.contains(['<', '>', '"']) {
            assert!(!markup.contains(attack), "{attack} stands unescaped");
        }
        assert_eq!(page.matches("<script").count(), 1, "{attack}");
        assert!(!page.contains("<img"), "{attack}");
        assert_eq!(foreign_attributes(&markup), Vec::<String>::new(), "{attack}");
    }
}

/// Attributes that run or style, anywhere in a tag, outside quotes.
fn foreign_attributes(markup: &str) -> Vec<String> {
    let mut found = Vec::new();
    for tag in markup.split('<').skip(1) {
        let mut outside = String::new();
        let mut is_quoted = false;
        for c in tag.chars() {
            match c {
                '"' => is_quoted = !is_quoted,
                '>' if !is_quoted => break,
                c if !is_quoted => outside.push(c),
                _ => {}
            }
        }
        let names = outside.split_whitespace().skip(1).map(|name| name.trim_end_matches('='));
        found.extend(
            names
                .filter(|name| name.starts_with("on") || ["style", "src", "href"].contains(name))
                .map(str::to_owned),
        );
    }
    found
}

#[test]
fn nothing_is_fetched_and_only_the_own_script_runs() {
    let page = fixture_page();
    for loads in ["http:", "https:", "//cdn", "@import", "url(", " src=", "href="] {
        assert!(!page.contains(loads), "{loads}");
    }
    assert!(page.contains("http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';"));
    // The hashes are of exactly what stands between the tags, as a browser will compute them.
    for (tag, text) in [("style", STYLE), ("script", SCRIPT)] {
        let start = page.find(&format!("<{tag}>")).unwrap() + tag.len() + 2;
        let end = start + page[start..].find(&format!("</{tag}>")).unwrap();
        assert_eq!(&page[start..end], text);
        assert!(page.contains(&format!("{tag}-src '{}'", source_hash(&page[start..end]))));
    }
}

#[test]
fn the_hash_is_that_of_the_csp_specification() {
    // CSP level 3, 6.7.2: the example's script and its hash.
    assert_eq!(
        source_hash("alert('Hello, world.');"),
        "sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng="
    );
}

#[test]
fn every_section_is_there() {
    let page = fixture_page();
    let sections = [
        "measurement",
        "causes",
        "culprits",
        "histogram",
        "percentiles",
        "victims",
        "worst",
        "patterns",
        "advice",
        "notes",
    ];
    for id in sections {
        assert!(page.contains(&format!("<section id=\"{id}\">")), "{id}");
    }
    assert_eq!(page.matches("<article>").count(), 4 + 1, "worst wakeups and patterns");
    let blocked = "blocked (S) on futex 0x11524, held by low";
    assert!(page.contains(&format!("<title>{blocked}, 35.0 µs</title>")), "a box per stretch");
    assert_eq!(page.matches("class=\"boost").count(), 4, "a dot per boost");
    assert!(page.contains("high lends low its priority 59 (low had 120): low holds the lock"));
    assert!(!page.contains("NaN") && !page.contains("inf\""));
}

#[test]
fn little_data_makes_a_page_too() {
    let context = Context::default();
    let empty = Explanation::default();
    let mut one = Explanation::default();
    one.latencies.record(0);
    for explanation in [None, Some(&empty), Some(&one)] {
        let data = Data { explanation, ..Data::new(&context) };
        let page = page(&data);
        assert!(page.ends_with("</html>"));
        assert!(!page.contains("NaN") && !page.contains("inf\""));
    }
    fixture::with_measurement_only(|data| assert!(page(data).contains("id=\"percentiles\"")));
}

#[test]
fn causes_as_markup() {
    let page = fixture_page();
    let start = page.find("<section id=\"causes\">").unwrap();
    let end = start + page[start..].find("</tr></tbody>").unwrap();
    insta::assert_snapshot!(page[start..end].replace("<tr>", "\n<tr>").replace("<g ", "\n<g "));
}
