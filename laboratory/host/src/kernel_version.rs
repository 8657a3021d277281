//! A kernel's version, to compare.

/// Major and minor number, `(6, 12)`.
pub type KernelVersion = (u32, u32);

/// Reads the start of a release: `6.12.9-amd64` gives `(6, 12)`.
pub fn parse(release: &str) -> Option<KernelVersion> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    #[test]
    fn releases_as_they_come() {
        for (release, version) in [
            ("6.18.44", Some((6, 18))),
            ("4.8.6-rt5", Some((4, 8))),
            ("6.12-rc3+", Some((6, 12))),
            ("", None),
            ("six.one", None),
            ("99999999999.1", None),
        ] {
            assert_eq!(super::parse(release), version, "{release}");
        }
    }
}
