//! The sizes of a run.

use std::time::Duration;

use clap::ValueEnum;

/// A size of run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Size {
    /// Shows that everything works; its times mean nothing
    Tiny,
    /// Shows a regression within four minutes
    Quick,
    /// For RESULTS.md
    Full,
}

/// The numbers that make up a size.
#[derive(Clone, Debug)]
pub(crate) struct Scale {
    /// Name of the size, and of the folder of its corpora.
    pub(crate) name: &'static str,
    /// Number of files in each half of the tree of small files.
    pub(crate) files: usize,
    /// Number of folders in each half of the tree of small files.
    pub(crate) folders: usize,
    /// Number of small files that are opened and read.
    pub(crate) sample: usize,
    /// Number of sets of eight textures. A set takes 9 MB.
    pub(crate) textures: usize,
    /// Number of folders of the tree that programs read. A folder has 28 files.
    pub(crate) tree_folders: usize,
    /// Length of the large stored file in bytes.
    pub(crate) big: usize,
    /// Length of the large packed file in bytes.
    pub(crate) packed: usize,
    /// Side of the 16 large textures in pixels; they are BC7.
    pub(crate) large_side: u16,
    /// Number of random reads of all threads together.
    pub(crate) random_reads: usize,
    /// Number of archives that are mounted together.
    pub(crate) archives: usize,
    pub(crate) files_per_archive: usize,
    /// Number of meshes that name textures. They have 23 KB on average.
    pub(crate) meshes: usize,
    pub(crate) instances: Instances,
    /// How often everything is repeated.
    pub(crate) rounds: usize,
    /// No round begins after this time.
    pub(crate) soft_limit: Duration,
    /// The run is ended after this time.
    pub(crate) hard_limit: Duration,
}

/// The numbers for instances of Mod Organizer 2.
#[derive(Clone, Debug)]
pub(crate) struct Instances {
    /// Numbers of mods. An instance of 1,500 mods has 500,000 files.
    pub(crate) mods: &'static [usize],
    /// Number of loose files that are changed one after the other.
    pub(crate) changes: usize,
    /// How long a generator writes files.
    pub(crate) generator: Duration,
}

impl Scale {
    pub(crate) fn of(size: Size) -> Self {
        match size {
            Size::Tiny => Self {
                name: "tiny",
                files: 600,
                folders: 40,
                sample: 100,
                textures: 1,
                tree_folders: 6,
                big: 4 << 20,
                packed: 2 << 20,
                large_side: 256,
                random_reads: 400,
                archives: 6,
                files_per_archive: 50,
                meshes: 200,
                instances: Instances { mods: &[6], changes: 3, generator: Duration::from_secs(2) },
                rounds: 2,
                soft_limit: Duration::from_secs(40),
                hard_limit: Duration::from_secs(240),
            },
            Size::Quick => Self {
                name: "quick",
                files: 10_000,
                folders: 222,
                sample: 2_000,
                textures: 7,
                tree_folders: 50,
                big: 128 << 20,
                packed: 64 << 20,
                large_side: 1024,
                random_reads: 8_000,
                archives: 100,
                files_per_archive: 500,
                meshes: 6_000,
                instances: Instances { mods: &[15, 150], changes: 6, generator: Duration::from_secs(3) },
                rounds: 3,
                soft_limit: Duration::from_secs(100),
                hard_limit: Duration::from_secs(600),
            },
            Size::Full => Self {
                name: "full",
                files: 100_000,
                folders: 2_220,
                sample: 10_000,
                textures: 60,
                tree_folders: 250,
                big: 1 << 30,
                packed: 64 << 20,
                large_side: 2048,
                random_reads: 20_000,
                archives: 100,
                files_per_archive: 5_000,
                meshes: 60_000,
                instances: Instances {
                    mods: &[15, 150, 1_500],
                    changes: 50,
                    generator: Duration::from_secs(30),
                },
                rounds: 5,
                soft_limit: Duration::from_secs(45 * 60),
                hard_limit: Duration::from_secs(120 * 60),
            },
        }
    }

    /// What the corpora are made from; `version` is that of their contents.
    pub(crate) fn stamp(&self, version: &str) -> String {
        let Self { files, folders, textures, tree_folders, big, packed, large_side, .. } = self;
        let Self { archives, files_per_archive, meshes, .. } = self;
        format!(
            "{version} {files} {folders} {textures} {tree_folders} {big} {packed} {large_side} {archives} \
             {files_per_archive} {meshes}"
        )
    }
}
