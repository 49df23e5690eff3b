//! What a running daemon tells of itself: counts that mean what they say, in a real mount by the real program.

use std::collections::BTreeMap;

use bsafs::fs::Status;

use crate::mounted::{Mounted, TestDir};
use crate::support::content::text;
use crate::support::tes4::{FILE_NAMES, FOLDER_NAMES, PACKED};
use crate::support::{Tes4, Tes4File};

/// Bytes of the packed file; more than a request asks for, so that it is decoded into the cache.
const PACKED_LEN: usize = 2_500_000;

/// A mount of three files: stored, packed, and damaged.
struct Mount {
    mounted: Mounted,
    dir: TestDir,
}

impl Mount {
    fn new() -> Self {
        let archive = Tes4::new(104)
            .flags(FOLDER_NAMES | FILE_NAMES | PACKED)
            .add("f", Tes4File::new("stored.txt", text(1, 5000)).toggle())
            .add("f", Tes4File::new("packed.txt", text(2, PACKED_LEN)))
            .add("f", Tes4File::new("damaged.txt", text(3, 9000)).stream(b"no stream at all".as_slice()));
        let dir = TestDir::new();
        dir.archive("a.bsa", &archive.build());
        Self { mounted: dir.mount(["a.bsa"]), dir }
    }

    fn status(&self) -> Status {
        serde_json::from_str(&self.dir.run(["status", "--json", "mnt"]).sound()).unwrap()
    }

    /// Looks at everything: lists, sizes, bytes of the sound files.
    fn walk(&self) {
        let mut listed = 0;
        for entry in std::fs::read_dir(self.mounted.join("f")).unwrap() {
            let path = entry.unwrap().path();
            assert!(path.metadata().unwrap().len() > 0);
            listed += 1;
            if !path.ends_with("damaged.txt") {
                std::fs::read(path).unwrap();
            }
        }
        assert_eq!(listed, 3);
    }
}

/// Requests of the kinds that are not about the account itself, as far as there were any.
fn asked(status: &Status) -> BTreeMap<&str, u64> {
    let kinds = status.requests.iter().filter(|(kind, number)| *kind != "status" && **number > 0);
    kinds.map(|(kind, number)| (kind.as_str(), *number)).collect()
}

#[test]
fn a_second_look_is_seen_to_cost_no_request_for_looks_at_the_counts_are_counted_apart() {
    // A machine that is short of memory takes its page cache back whenever it likes, so there are three tries.
    let costs = [cost_of_a_second_look(), cost_of_a_second_look(), cost_of_a_second_look()];
    assert!(costs.contains(&0), "{costs:?}");
}

/// Requests that a second walk over a fresh mount took.
fn cost_of_a_second_look() -> u64 {
    let mount = Mount::new();
    mount.walk();
    let first = mount.status();
    assert!(asked(&first)["read"] >= 2 && asked(&first)["readdirplus"] >= 1, "{first:?}");
    mount.walk();
    let second = mount.status();
    assert!(second.requests["status"] > first.requests["status"]);
    asked(&second).values().sum::<u64>() - asked(&first).values().sum::<u64>()
}

#[test]
fn bytes_errors_and_cache_are_told() {
    let mount = Mount::new();
    let fresh = mount.status();
    assert_eq!((fresh.archives, fresh.files), (1, 3));
    assert_eq!((fresh.decoded_bytes, fresh.errors, fresh.cache.bytes), (0, 0, 0));
    assert_eq!(fresh.cache.budget, 64 << 20);
    mount.walk();
    let walked = mount.status();
    // The whole file into the cache, once.
    assert_eq!((walked.decoded_bytes, walked.cache.bytes), (PACKED_LEN as u64, PACKED_LEN as u64));
    // Whether the cache was hit is between the reader and the thread that gives the kernel all that was decoded.
    assert!(walked.read_bytes > 5000, "{walked:?}");
    assert_eq!(walked.errors, 0);
    assert!(std::fs::read(mount.mounted.join("f/damaged.txt")).is_err());
    assert!(mount.status().errors > 0);
}

#[test]
fn people_are_told_the_same_and_a_folder_without_a_mount_is_said_to_be_none() {
    let mount = Mount::new();
    mount.walk();
    let told = mount.dir.run(["status", "mnt"]).out;
    assert!(told.contains("holds      3 files in 1 archive\n") && told.contains("errors     0\n"), "{told}");
    let refused = mount.dir.run(["status", "."]);
    assert_eq!(refused.code, 66);
    assert!(refused.err.contains("no mount of bsafs is there"));
}
