//! Counts of the kernel's requests, by operation.
//!
//! Requests for the counts themselves are counted separately, because tests and the benchmark
//! compare counts before and after a step.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use super::remembered::inode_numbers::{
    CHANGES_INO, CHANGES_LINK, SOURCES_LINK, STATUS_INO, STATUS_LINK, sources_page,
};
use crate::tree::Ino;

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Lookup,
    GetAttr,
    ReadLink,
    Open,
    OpenDir,
    Read,
    ReadDir,
    ReadDirPlus,
    StatFs,
    GetXattr,
    ListXattr,
    /// Operations that are not supported: ACCESS, FLUSH, LSEEK, IOCTL, and all that would write.
    Other,
    /// Any operation on the links of the status, of the sources and of changes.
    Status,
}

impl Operation {
    /// All operations, in order of declaration.
    #[rustfmt::skip]
    const ALL: [Self; 13] = [
        Self::Lookup, Self::GetAttr, Self::ReadLink, Self::Open, Self::OpenDir, Self::Read, Self::ReadDir,
        Self::ReadDirPlus, Self::StatFs, Self::GetXattr, Self::ListXattr, Self::Other, Self::Status,
    ];

    /// Name in the counts and in the log, such as `readdirplus`.
    pub(crate) fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }

    /// The counter for this operation on a name in a folder.
    pub(crate) fn on_name(self, parent: Ino, name: &[u8]) -> Self {
        let is_status = name == STATUS_LINK.as_bytes()
            || [SOURCES_LINK, CHANGES_LINK].iter().any(|link| name.starts_with(link.as_bytes()));
        if is_status && parent == Ino::ROOT { Self::Status } else { self }
    }

    /// The counter for this operation on a node.
    pub(crate) fn on_node(self, ino: Ino) -> Self {
        let is_status = ino == STATUS_INO || ino >= CHANGES_INO || sources_page(ino).is_some();
        if is_status { Self::Status } else { self }
    }
}

/// Number of requests for each operation.
#[derive(Debug, Default)]
pub(crate) struct Requests([AtomicU64; Operation::ALL.len()]);

impl Requests {
    pub(crate) fn count(&self, operation: Operation) {
        self.0[operation as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// All counts, including zeros.
    pub(crate) fn by_operation(&self) -> BTreeMap<String, u64> {
        Operation::ALL.iter().zip(&self.0).map(|(it, n)| (it.name(), n.load(Ordering::Relaxed))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_operation_is_counted_under_its_own_name() {
        assert!(Operation::ALL.iter().enumerate().all(|(index, it)| *it as usize == index));
        let names = [Operation::Lookup, Operation::Read, Operation::ReadDirPlus, Operation::Other]
            .map(Operation::name);
        assert_eq!(names, ["lookup", "read", "readdirplus", "other"]);
        let requests = Requests::default();
        requests.count(Operation::Read);
        requests.count(Operation::Read);
        let counts = requests.by_operation();
        assert_eq!((counts["read"], counts["lookup"], counts.len()), (2, 0, 13));
    }
}
