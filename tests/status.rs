//! The status of a running daemon counts requests, bytes, errors and cache correctly.

use std::collections::BTreeMap;

use bsafs::fs::DaemonStatus;

use crate::mounted::{Mounted, TestDir};
use crate::support::content::text;
use crate::support::tes4::{FILE_NAMES, FOLDER_NAMES, PACKED};
use crate::support::{Tes4, Tes4File};

/// Length of the packed file. It exceeds a READ, so that the file is decoded into the cache.
const PACKED_LEN: usize = 2_500_000;

/// A mount of three files: a stored, a packed and a damaged one.
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

    fn status(&self) -> DaemonStatus {
        serde_json::from_str(&self.dir.run(["status", "--json", "mnt"]).success()).unwrap()
    }

    /// Reads the listing, all sizes, and the files that are not damaged.
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

/// Numbers of requests by operation, without zeros and without requests for the status itself.
fn requests(status: &DaemonStatus) -> BTreeMap<&str, u64> {
    let kinds = status.requests.iter().filter(|(kind, number)| *kind != "status" && **number > 0);
    kinds.map(|(kind, number)| (kind.as_str(), *number)).collect()
}

#[test]
fn a_second_walk_sends_no_request() {
    // If memory is short, the kernel may evict pages, so only one of three tries must succeed.
    let costs = [(); 3].map(|()| requests_of_a_second_walk());
    assert!(costs.contains(&0), "{costs:?}");
}

/// Number of requests that a second walk over a new mount sends.
fn requests_of_a_second_walk() -> u64 {
    let mount = Mount::new();
    mount.walk();
    let first = mount.status();
    assert!(requests(&first)["read"] >= 2 && requests(&first)["readdirplus"] >= 1, "{first:?}");
    mount.walk();
    let second = mount.status();
    assert!(second.requests["status"] > first.requests["status"]);
    requests(&second).values().sum::<u64>() - requests(&first).values().sum::<u64>()
}

#[test]
fn bytes_errors_and_cache_are_counted() {
    let mount = Mount::new();
    let fresh = mount.status();
    assert_eq!((fresh.archives, fresh.files), (1, 3));
    assert_eq!((fresh.decoded_bytes, fresh.errors, fresh.cache.bytes), (0, 0, 0));
    assert_eq!(fresh.cache.budget, 64 << 20);
    mount.walk();
    let walked = mount.status();
    // The store decoded the whole file into the cache, once.
    assert_eq!((walked.decoded_bytes, walked.cache.bytes), (PACKED_LEN as u64, PACKED_LEN as u64));
    assert!(walked.read_bytes > 5000, "{walked:?}");
    assert_eq!(walked.errors, 0);
    assert!(std::fs::read(mount.mounted.join("f/damaged.txt")).is_err());
    assert!(mount.status().errors > 0);
}

#[test]
fn the_text_form_shows_the_counts_of_a_mount() {
    let mount = Mount::new();
    mount.walk();
    let text = mount.dir.run(["status", "mnt"]).out;
    assert!(text.contains("holds      3 files in 1 archive\n") && text.contains("errors     0\n"), "{text}");
    let refused = mount.dir.run(["status", "."]);
    assert_eq!(refused.code, 66);
    assert!(refused.err.contains("not a bsafs mount"));
}
