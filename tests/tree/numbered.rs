//! Numbered names of duplicates: they keep their extension, fit into the limit, and differ.

use bsafs::format::encoding::Encoding;
use bsafs::format::name::{self, COMPONENT_MAX};
use bsafs::tree::numbered;
use proptest::prelude::*;

#[test]
fn numbered_names_keep_their_extension_and_fit() {
    assert_eq!(numbered("foo.dds", 2), "foo (2).dds");
    assert_eq!(numbered("a.tar.gz", 10), "a.tar (10).gz");
    assert_eq!(numbered("noext", 3), "noext (3)");
    assert_eq!(numbered(".gitignore", 2), ".gitignore (2)");
    let long = format!("{}.dds", "\u{e9}".repeat(125));
    assert_eq!(numbered(&long, u32::MAX), format!("{} (4294967295).dds", "\u{e9}".repeat(119)));
    let all_extension = format!("a.{}", "x".repeat(253));
    assert_eq!(numbered(&all_extension, 2), format!("a.{} (2)", "x".repeat(249)));
}

proptest! {
    #[test]
    fn numbered_names_are_safe_and_distinct_for_any_name(
        stored in proptest::collection::vec(any::<u8>(), 0..1500),
        n in any::<u32>(),
    ) {
        for name in name::components(&stored, Encoding::default()) {
            let found = numbered(&name, n);
            prop_assert!(!matches!(&found[..], "" | "." | "..") && found.len() <= COMPONENT_MAX);
            prop_assert!(!found.contains(|c: char| c == '/' || c == '\\' || c.is_ascii_control()));
            prop_assert_ne!(found, numbered(&name, n ^ 1));
        }
    }
}
