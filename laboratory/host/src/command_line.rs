//! The kernel's command line.

/// Options from `/proc/cmdline`, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct CommandLine {
    options: Vec<(String, String)>,
}

impl CommandLine {
    /// Takes the text apart at spaces outside quotes. What follows `--` is for init, not the kernel.
    pub(crate) fn parse(text: &str) -> Self {
        let mut quoted = false;
        let options = text
            .trim()
            .split(|c: char| {
                quoted ^= c == '"';
                c.is_whitespace() && !quoted
            })
            .filter(|option| !option.is_empty())
            .take_while(|option| *option != "--")
            .map(|option| {
                let (name, value) = option.split_once('=').unwrap_or((option, ""));
                // The kernel takes `-` and `_` in names for the same.
                (name.replace('-', "_"), value.trim_matches('"').to_owned())
            })
            .collect();
        Self { options }
    }

    /// Names and values, in order.
    pub(crate) fn options(&self) -> impl Iterator<Item = (&str, &str)> {
        self.options.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The value of an option; the last one where it is given twice, as the kernel does.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        let found = self.options.iter().rev().find(|(given, _)| given == name);
        found.map(|(_, value)| value.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::CommandLine;

    #[test]
    fn the_last_one_counts_and_quotes_hold_together() {
        let line = CommandLine::parse("a=1 dyndbg=\"file x +p\" b a=2 intel-idle.x=3 -- a=9\n");
        assert_eq!(line.value("a"), Some("2"));
        assert_eq!(line.value("dyndbg"), Some("file x +p"));
        assert_eq!(line.value("b"), Some(""));
        assert_eq!(line.value("intel_idle.x"), Some("3"));
        assert_eq!(line.value("c"), None);
    }
}
