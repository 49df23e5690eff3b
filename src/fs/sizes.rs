//! Learns sizes from an archive's data when an answer needs them.
//!
//! The answer waits for the device for at most a second. A size that is still unknown then is not
//! sent: requests for the file fail with EIO, and a listing has its name without attributes. An
//! estimate would do harm, because a copy by sendfile or mmap ends at the first size that it got.

use std::sync::Arc;

use super::error::Error;
use super::view::View;
use crate::tree::{Ino, NodeId};

/// Number of files whose sizes are learnt together. They are few, so that a slow disk finishes the first ones
/// while an answer waits.
const AT_A_TIME: usize = 32;

/// A job that reads a device. It calls the function that it is passed after each read.
pub(crate) type SizeJob = Box<dyn FnOnce(&dyn Fn()) + Send>;

impl View {
    /// Whether a node is a file that must be statted or read before an answer has its size.
    pub(crate) fn is_to_learn(&self, node: NodeId) -> bool {
        self.is_unsized(node) || self.is_unwatched(node)
    }

    /// The node, if it is a file of unknown size.
    pub(crate) fn unsized_file(&self, ino: Ino) -> Option<NodeId> {
        self.inode(ino).ok()?.node.filter(|node| self.is_unsized(*node))
    }

    /// Whether a node is a file whose size is unknown, but can be learnt.
    pub(crate) fn is_unsized(&self, node: NodeId) -> bool {
        self.entry(node).is_some_and(|entry| {
            self.store().file(entry).known_size().is_none() && !self.store().file(entry).is_size_lost()
        })
    }

    /// Why the size of a file is still unknown.
    pub(crate) fn size_error(&self, node: NodeId) -> Error {
        match self.entry(node) {
            Some(entry) if self.store().file(entry).is_gone() => {
                self.shared.report_change(self.store().file(entry).loose_folder().as_deref());
                Error::NotFound
            }
            _ => Error::Damaged,
        }
    }

    /// Jobs that learn the sizes of these files: one for each device, with the number of the device.
    pub(crate) fn size_jobs(
        self: &Arc<Self>,
        nodes: impl IntoIterator<Item = NodeId>,
    ) -> Vec<(u64, SizeJob)> {
        // Devices are few, and most requests are for one file.
        let mut by_device = Vec::<(u64, Vec<NodeId>)>::new();
        for node in nodes {
            let device = self.entry(node).map_or(0, |entry| self.store().file(entry).device());
            match by_device.iter_mut().find(|(known, _)| *known == device) {
                Some((_, nodes)) => nodes.push(node),
                None => by_device.push((device, vec![node])),
            }
        }
        let learn = |(device, mut nodes): (u64, Vec<NodeId>)| {
            let fs = self.clone();
            let job: SizeJob = Box::new(move |note_progress| {
                nodes.sort_unstable_by_key(|node| {
                    fs.entry(*node).map(|entry| (entry.layer, fs.store().file(entry).offset()))
                });
                nodes.chunks(AT_A_TIME).for_each(|some| fs.learn_sizes(some, note_progress));
            });
            (device, job)
        };
        by_device.into_iter().map(learn).collect()
    }

    fn learn_sizes(&self, nodes: &[NodeId], note_progress: &dyn Fn()) {
        let unwatched: Vec<_> = nodes.iter().filter(|node| self.is_unwatched(**node)).collect();
        let unsized_ones = nodes.iter().filter(|node| !unwatched.contains(node));
        let entries = unsized_ones.filter_map(|node| self.entry(*node));
        for error in self.store().learn_sizes_with_progress(entries, note_progress) {
            let node = nodes.iter().find(|node| self.entry(**node) == Some(error.entry));
            if let Some(&node) = node.filter(|_| error.is_new) {
                log::error!("{}: cannot determine its size: {error}", self.path_of(node, error.entry));
            }
        }
        for node in unwatched {
            self.check_unwatched(*node);
            note_progress();
        }
    }
}
