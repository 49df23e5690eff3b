//! The corpora: the same files loose, in archives and in squashfs images. They are built once.

use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::assets::{self, FORMATS, Texture};
use crate::measure::files_below;
use crate::scale::Scale;
use crate::support::content::texels;
use crate::support::pack::{lz4_frame, zlib};
use crate::support::tes4::{FILE_NAMES, FOLDER_NAMES, PACKED};
use crate::support::{Ba2, Ba2File, Chunk, Parts, Tes4, Tes4File, ba2, hash, write_sparse};
use crate::{Bench, Outcome, at, instance, meshes, run};

/// Change this together with the contents of a corpus, so that old corpora are rebuilt.
const VERSION: &str = "4";
/// `DXGI_FORMAT` of unpacked texels of four bytes.
const BGRA8: u8 = 87;
/// Options that keep mksquashfs from compressing anything.
const UNPACKED: &[&str] = &["-noI", "-noId", "-noD", "-noF", "-noX"];

/// The files of a corpus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Set {
    /// A great many small files in two halves, `meshes` and `scripts`.
    Small,
    /// Small files and textures mixed, as in a game's archive, for programs that read whole trees.
    Tree,
    /// Textures with all their mips.
    Textures,
    /// One large stored file.
    Big,
    /// 16 large packed textures, and one large packed file.
    Large,
    /// Many archives with many files.
    Many,
    /// Instances of Mod Organizer 2.
    Instance,
    /// Small files and textures, whose data is not in the order of names, for a disk that seeks.
    Slow,
    /// Meshes that name textures.
    Meshes,
}

impl Set {
    pub(crate) const ALL: [(Self, &str); 9] = [
        (Self::Small, "small"),
        (Self::Tree, "tree"),
        (Self::Textures, "textures"),
        (Self::Big, "big"),
        (Self::Large, "large"),
        (Self::Many, "many"),
        (Self::Instance, "instance"),
        (Self::Slow, "slow"),
        (Self::Meshes, "meshes"),
    ];

    pub(crate) fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// The set's files, for the tables of targets.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Small => "small files",
            Self::Tree => "tree",
            Self::Textures => "textures",
            Self::Big => "large file",
            Self::Large => "large zlib files",
            Self::Many => "many archives",
            Self::Instance => "instances",
            Self::Slow => "slow disk",
            Self::Meshes => "meshes",
        }
    }

    /// The set's folder, which has `loose`, images and archives.
    pub(crate) fn folder(self, corpora: &Path) -> PathBuf {
        corpora.join(self.name())
    }
}

/// A file of a corpus. `folder` has `\` as separator, as in archives.
struct File {
    folder: String,
    name: String,
    data: Vec<u8>,
}

/// Builds the corpora of a run that are missing or outdated.
pub(crate) fn build(bench: &Bench) -> Outcome<()> {
    let Bench { corpora, scale, .. } = bench;
    let of_files = scale.stamp(VERSION);
    // The set of many archives is measured beside the loose small files.
    let is_needed = |set| bench.is_wanted(set) || set == Set::Small && bench.is_wanted(Set::Many);
    for (set, name) in Set::ALL.into_iter().filter(|(set, _)| is_needed(*set)) {
        let folder = set.folder(corpora);
        let stamp = if set == Set::Instance { instance::stamp(scale) } else { of_files.clone() };
        let done = folder.join("done");
        if fs::read_to_string(&done).is_ok_and(|it| it == stamp) {
            continue;
        }
        eprintln!("bench: building the corpus {name}");
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(at(&folder))?;
        }
        fs::create_dir_all(&folder).map_err(at(&folder))?;
        match set {
            Set::Small => build_small(&folder, scale)?,
            Set::Tree => build_tree(&folder, scale)?,
            Set::Textures => build_textures(&folder, scale)?,
            Set::Big => build_big(&folder, scale)?,
            Set::Large => build_large(&folder, scale)?,
            Set::Many => build_many(&folder, scale)?,
            Set::Instance => instance::build(corpora, scale)?,
            Set::Slow => build_slow(&folder, scale)?,
            Set::Meshes => build_meshes(&folder, scale)?,
        }
        fs::write(&done, &stamp).map_err(at(&done))?;
    }
    run(&mut Command::new("sync"))
}

fn build_small(folder: &Path, scale: &Scale) -> Outcome<()> {
    let names: Vec<(String, String, u64)> = ["meshes", "scripts"]
        .into_iter()
        .zip([0u64, 1 << 32])
        .flat_map(|(half, seed)| {
            (0..scale.files).map(move |file| {
                let leaf = file * scale.folders / scale.files;
                let above = leaf / 100;
                let folder = format!("{half}\\region{above:02}\\place{leaf:04}");
                (
                    folder,
                    format!("thing{file:06}.{}", if half == "meshes" { "nif" } else { "psc" }),
                    seed + file as u64,
                )
            })
        })
        .collect();
    let files = in_parallel(&names, |(folder, name, seed)| File {
        folder: folder.clone(),
        name: name.clone(),
        data: assets::small(*seed),
    });
    write_loose(folder, &files)?;
    let streams = in_parallel(&files, |file| zlib(&file.data));
    // Every seventh file is stored, by the bit of its size that inverts the archive's flag.
    write_tes4(&folder.join("v104.bsa"), 104, &files, &streams, 7)?;
    write_general(&folder.join("gnrl.ba2"), &files, Some(&streams))?;
    drop(streams);
    write_general(&folder.join("gnrl-stored.ba2"), &files, None)?;
    write_packed(folder, 105, &files)?;
    write_images(folder)
}

/// In each folder 18 meshes and scripts of 1 to 100 KiB, and 10 textures of 11 to 700 KiB: 2.3 MB together.
fn build_tree(folder: &Path, scale: &Scale) -> Outcome<()> {
    // Side, and index in FORMATS, of the textures of a folder.
    const TEXTURES: [(u16, usize); 10] =
        [(1024, 0), (512, 3), (512, 0), (256, 3), (256, 1), (256, 2), (256, 3), (256, 0), (128, 3), (128, 0)];
    let numbers: Vec<usize> = (0..scale.tree_folders * 28).collect();
    let files = in_parallel(&numbers, |&number| {
        let (parent, index) = (number / 28, number % 28);
        let (name, data) = match index.checked_sub(18).map(|index| TEXTURES[index]) {
            None => (format!("part{index:02}.nif"), assets::small_up_to(number as u64, 200)),
            Some((side, format)) => {
                let texture = Texture::new(number as u64, FORMATS[format], side);
                (format!("surface{index:02}.dds"), texture.dds())
            }
        };
        File { folder: format!("data\\region{:02}\\place{parent:03}", parent / 10), name, data }
    });
    write_loose(folder, &files)?;
    let streams = in_parallel(&files, |file| zlib(&file.data));
    write_general(&folder.join("gnrl.ba2"), &files, Some(&streams))?;
    write_image(folder, "gzip.sqfs", &["-comp", "gzip"])
}

/// The files of [`Set::Tree`], with data in the orders of real archives: of hashes, of the names of files,
/// and in no order, in one archive and in many.
fn build_slow(folder: &Path, scale: &Scale) -> Outcome<()> {
    build_tree(folder, scale)?;
    let loose = folder.join("loose");
    let mut paths = Vec::new();
    files_below(&loose, &loose, &mut paths)?;
    let read = |within: &PathBuf| -> Outcome<File> {
        let path = loose.join(within);
        let data = fs::read(&path).map_err(at(&path))?;
        let (folder, name) = (within.parent().unwrap_or(within), within.file_name().unwrap_or_default());
        let folder = folder.to_string_lossy().replace('/', "\\");
        Ok(File { folder, name: name.to_string_lossy().into_owned(), data })
    };
    let mut files = paths.iter().map(read).collect::<Outcome<Vec<File>>>()?;
    files.sort_by_key(|file| {
        (hash::tes4_folder(file.folder.as_bytes()), hash::tes4_file(file.name.as_bytes()))
    });
    for version in [104, 105] {
        write_packed(folder, version, &files)?;
    }
    let streams = in_parallel(&files, |file| zlib(&file.data));
    write_general(&folder.join("gnrl.ba2"), &files, Some(&streams))?;

    let mut packed: Vec<(File, Vec<u8>)> = files.into_iter().zip(streams).collect();
    packed.sort_by(|(left, _), (right, _)| {
        left.name.cmp(&right.name).then_with(|| left.folder.cmp(&right.folder))
    });
    let write = |path: &Path, packed: Vec<(File, Vec<u8>)>| -> Outcome<Vec<(File, Vec<u8>)>> {
        let (files, streams): (Vec<File>, Vec<Vec<u8>>) = packed.into_iter().unzip();
        write_general(path, &files, Some(&streams))?;
        Ok(files.into_iter().zip(streams).collect())
    };
    let mut packed = write(&folder.join("names.ba2"), packed)?;
    packed.sort_by_cached_key(|(file, _)| {
        let mut hasher = DefaultHasher::new();
        (&file.folder, &file.name).hash(&mut hasher);
        hasher.finish()
    });
    let mut packed = write(&folder.join("random.ba2"), packed)?;
    let many = folder.join("many");
    fs::create_dir(&many).map_err(at(&many))?;
    for number in 0..scale.archives {
        let rest = packed.split_off(packed.len() / (scale.archives - number));
        write(&many.join(format!("part{number:03}.ba2")), packed)?;
        packed = rest;
    }
    Ok(())
}

fn build_textures(folder: &Path, scale: &Scale) -> Outcome<()> {
    // Side, and index in FORMATS, of the eight textures of a set.
    const EIGHT: [(u16, usize); 8] =
        [(2048, 0), (1024, 3), (1024, 0), (1024, 1), (1024, 2), (512, 1), (512, 0), (512, 3)];
    let numbers: Vec<usize> = (0..scale.textures * EIGHT.len()).collect();
    let textures = in_parallel(&numbers, |&number| {
        let (side, format) = EIGHT[number % EIGHT.len()];
        Texture::new(number as u64 + 77, FORMATS[format], side)
    });
    let files: Vec<File> = textures
        .iter()
        .enumerate()
        .map(|(number, texture)| File {
            folder: format!("textures\\set{:02}", number / 32),
            name: format!("surface{number:04}.dds"),
            data: texture.dds(),
        })
        .collect();
    write_loose(folder, &files)?;
    write_packed(folder, 104, &files)?;
    write_packed(folder, 105, &files)?;
    let numbers: Vec<usize> = (0..files.len()).collect();
    let packed = in_parallel(&numbers, |&number| {
        dx10_file(&format!("{}\\{}", files[number].folder, files[number].name), &textures[number])
    });
    let archive = packed.into_iter().fold(Ba2::textures(1), Ba2::add);
    write_parts(&folder.join("dx10.ba2"), &archive.build_parts())?;
    write_images(folder)
}

/// Splits a texture into chunks as the game's tools do: at most four, one for each mip of 512
/// texels and more, and one for the rest.
fn dx10_file(path: &str, texture: &Texture) -> Ba2File {
    let count = texture.mips.len();
    let alone = (0..count).take_while(|mip| texture.side >> mip >= 512).count().min(3);
    let head = ba2::Texture::new(texture.format, texture.side, texture.side, count as u8);
    let chunk = |first: usize, last: usize| {
        Chunk::zlib(texture.mips[first..=last].concat()).mips(first as u16, last as u16)
    };
    (0..alone)
        .map(|mip| chunk(mip, mip))
        .chain(std::iter::once_with(|| chunk(alone, count - 1)))
        .fold(Ba2File::texture(path, head), Ba2File::chunk)
}

fn build_big(folder: &Path, scale: &Scale) -> Outcome<()> {
    let pieces: Vec<u64> = (0..scale.big as u64 >> 20).collect();
    let data = in_parallel(&pieces, |&piece| texels(piece, 1 << 20)).concat();
    let files = [File { folder: "sound".into(), name: "big.bin".into(), data }];
    write_loose(folder, &files)?;
    write_general(&folder.join("gnrl-stored.ba2"), &files, None)?;
    drop(files);
    write_image(folder, "none.sqfs", UNPACKED)
}

fn build_large(folder: &Path, scale: &Scale) -> Outcome<()> {
    let numbers: Vec<u64> = (0..16).collect();
    let mut files = in_parallel(&numbers, |&number| File {
        folder: "textures\\large".into(),
        name: format!("land{number:02}.dds"),
        data: Texture::new(number, FORMATS[3], scale.large_side).dds(),
    });
    let packed = Texture::new(99, FORMATS[3], 8192).mips.swap_remove(0);
    let data = packed[..scale.packed].to_vec();
    files.push(File { folder: "packed".into(), name: "packed.bin".into(), data });
    write_loose(folder, &files)?;
    // A texture without mips in four chunks of equal length.
    let side = scale.large_side * 2;
    let texels = u32::from(side).pow(2) as usize * 4;
    let texels = packed.get(..texels).unwrap_or(&packed);
    let head = ba2::Texture::new(BGRA8, side, side, 1);
    let texture = texels
        .chunks(texels.len() / 4)
        .map(|part| Chunk::zlib(part).mips(0, 0))
        .fold(Ba2File::texture("textures\\chunks.dds", head), Ba2File::chunk);
    write_parts(&folder.join("chunks.ba2"), &Ba2::textures(1).add(texture).build_parts())?;
    write_packed(folder, 104, &files)
}

/// Archives of three formats in turn. Their files have only a few bytes, because only the tables matter.
fn build_many(folder: &Path, scale: &Scale) -> Outcome<()> {
    let numbers: Vec<usize> = (0..scale.archives).collect();
    in_parallel(&numbers, |&archive| -> Outcome<()> {
        let count = scale.files_per_archive;
        let files: Vec<File> = (0..count)
            .map(|file| File {
                folder: format!("meshes\\mod{archive:03}\\part{:03}", file / 45),
                name: format!("object{file:05}.nif"),
                data: format!("{archive}/{file}").into_bytes(),
            })
            .collect();
        let path = folder.join(format!("mod{archive:03}"));
        match archive % 3 {
            0 => write_tes4(&path.with_extension("bsa"), 104, &files, &[], 1),
            1 => write_tes4(&path.with_extension("bsa"), 105, &files, &[], 1),
            _ => write_general(&path.with_extension("ba2"), &files, None),
        }
    })
    .into_iter()
    .collect()
}

fn build_meshes(folder: &Path, scale: &Scale) -> Outcome<()> {
    for archive in 0..scale.meshes.div_ceil(meshes::PER_ARCHIVE) {
        let first = archive * meshes::PER_ARCHIVE;
        let numbers: Vec<usize> = (first..scale.meshes.min(first + meshes::PER_ARCHIVE)).collect();
        let files = in_parallel(&numbers, |&number| File {
            folder: format!("meshes\\part{:03}", number / 50),
            name: format!("object{number:05}.nif"),
            data: meshes::mesh(number),
        });
        let streams = in_parallel(&files, |file| lz4_frame(&file.data));
        write_tes4(&folder.join(format!("meshes{archive:02}.bsa")), 105, &files, &streams, usize::MAX)?;
    }
    let textures = meshes::textures(scale.meshes).filter_map(|path| {
        let (folder, name) = path.rsplit_once('\\')?;
        Some(File { folder: folder.to_owned(), name: name.to_owned(), data: b"DDS ".to_vec() })
    });
    write_tes4(&folder.join("textures.bsa"), 105, &textures.collect::<Vec<_>>(), &[], 1)
}

fn write_loose(folder: &Path, files: &[File]) -> Outcome<()> {
    let loose = folder.join("loose");
    let mut made = PathBuf::new();
    for file in files {
        let within = loose.join(file.folder.replace('\\', "/"));
        if within != made {
            fs::create_dir_all(&within).map_err(at(&within))?;
            made.clone_from(&within);
        }
        let path = within.join(&file.name);
        fs::write(&path, &file.data).map_err(at(&path))?;
    }
    Ok(())
}

/// Writes an archive in which all files are compressed, by the codec of its version.
fn write_packed(folder: &Path, version: u32, files: &[File]) -> Outcome<()> {
    let pack = if version == 105 { lz4_frame } else { zlib };
    let streams = in_parallel(files, |file| pack(&file.data));
    write_tes4(&folder.join(format!("v{version}.bsa")), version, files, &streams, usize::MAX)
}

/// Writes a compressed archive in which every `toggled`th file is stored.
fn write_tes4(path: &Path, version: u32, files: &[File], streams: &[Vec<u8>], toggled: usize) -> Outcome<()> {
    let mut archive = Tes4::new(version).flags(FOLDER_NAMES | FILE_NAMES | PACKED);
    for (number, file) in files.iter().enumerate() {
        let entry = Tes4File::new(&file.name, file.data.clone());
        let entry = if number % toggled == toggled - 1 {
            entry.toggle()
        } else {
            entry.stream(streams[number].clone())
        };
        archive = archive.add(&file.folder, entry);
    }
    write_parts(path, &archive.build_parts())
}

fn write_general(path: &Path, files: &[File], streams: Option<&[Vec<u8>]>) -> Outcome<()> {
    let mut archive = Ba2::general(1);
    for (number, file) in files.iter().enumerate() {
        let chunk = match streams {
            Some(streams) => Chunk::packed(streams[number].clone(), file.data.len()),
            None => Chunk::stored(file.data.clone()),
        };
        archive = archive.add(Ba2File::general(format!("{}\\{}", file.folder, file.name)).chunk(chunk));
    }
    write_parts(path, &archive.build_parts())
}

pub(crate) fn write_parts(path: &Path, parts: &Parts) -> Outcome<()> {
    write_sparse(path, parts).map_err(at(path))
}

fn write_images(folder: &Path) -> Outcome<()> {
    write_image(folder, "gzip.sqfs", &["-comp", "gzip"])?;
    write_image(folder, "none.sqfs", UNPACKED)
}

fn write_image(folder: &Path, name: &str, options: &[&str]) -> Outcome<()> {
    let mut command = Command::new("mksquashfs");
    command.arg(folder.join("loose")).arg(folder.join(name)).args(["-noappend", "-quiet", "-no-progress"]);
    run(command.args(options))
}

/// Calls a function with each item on all processors. The results are in order.
pub(crate) fn in_parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(items.len()));
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((index, item)) = Some(next.fetch_add(1, Ordering::Relaxed))
                    .and_then(|index| items.get(index).map(|item| (index, item)))
                {
                    let result = work(item);
                    done.lock().unwrap().push((index, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap();
    done.sort_unstable_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}
