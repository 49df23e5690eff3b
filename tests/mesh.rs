//! The names in meshes and materials, and where the engine searches for them.

use bsafs::mesh::{FileKind, MeshError, NameKind, NamedFile, kind_of_name, paths, scan};

use crate::support::mesh::{Nif, bgsm, geometry};

fn names(bytes: &[u8]) -> Vec<String> {
    let found = scan(bytes).unwrap();
    found.names.iter().map(|name| String::from_utf8(name.stored.clone()).unwrap()).collect()
}

fn searched(stored: &str, is_old: bool) -> Vec<String> {
    let name = NamedFile { kind: kind_of_name(stored.as_bytes()).unwrap(), stored: stored.into() };
    paths(&name, is_old).into_iter().map(|path| String::from_utf8(path).unwrap()).collect()
}

#[test]
fn every_name_of_a_mesh_is_found_and_nothing_else() {
    let all = [
        "textures\\armor\\iron\\cuirass.dds",
        "Textures/Armor/Iron/Cuirass_N.DDS",
        "Tx_rock.tga",
        "old.BMP",
        "Materials\\rock.bgsm",
        "fx.bgem",
        "Actors\\Character\\Character.hkx",
        "C:\\Projects\\Build\\PC\\Data\\Textures\\far.dds",
    ];
    for nif in Nif::ALL {
        assert_eq!(names(&nif.naming(&all)), all);
    }
}

#[test]
fn a_name_is_found_wherever_the_steps_of_reading_end() {
    let long = format!("textures\\{}.dds", "x".repeat(240));
    for before in (1 << 18) - 600..(1 << 18) + 20 {
        let mut bytes = Nif::SkyrimSe.naming(&[]);
        bytes.resize(before, 7);
        bytes.extend([0; 4]);
        bytes.extend(u32::try_from(long.len()).unwrap().to_le_bytes());
        bytes.extend(long.as_bytes());
        bytes.resize(bytes.len() + 400, 7);
        assert_eq!(names(&bytes), [&*long], "{before}");
    }
}

#[test]
fn a_name_in_several_spellings_and_an_empty_slot_are_not_listed_twice_or_at_all() {
    let mesh = Nif::Fallout4.naming(&["A.dds", "a.DDS", "", "null.dds", ".dds", "textures\\.dds", "b.dds"]);
    assert_eq!(names(&mesh), ["A.dds", "b.dds"]);
    assert_eq!(
        names(&bgsm(&["rock_d.dds", "", "null", "Data\\rock_n.dds"])),
        ["rock_d.dds", "Data\\rock_n.dds"]
    );
}

#[test]
fn geometry_of_starfield_is_found_without_an_extension_and_only_there() {
    let path = "0123456789abcdef0123\\456789abcdef01234567";
    for (nif, expected) in [(Nif::Starfield, &[path][..]), (Nif::Fallout4, &[])] {
        let bytes = [nif.naming(&[]), geometry(path), vec![0; 300]].concat();
        assert_eq!(names(&bytes), expected);
    }
    let name = NamedFile { kind: NameKind::Geometry, stored: path.into() };
    assert_eq!(paths(&name, false), [format!("geometries/{}.mesh", path.replace('\\', "/")).into_bytes()]);
}

#[test]
fn textures_of_a_json_material_are_its_strings_that_end_so() {
    let json =
        br#"{"Objects":[{"FileName":"Data\\Textures\\a\"b.dds","x.dds":1,"n":"none.DDS x"},["c.dds"]]}"#;
    assert_eq!(names(json), ["Data\\Textures\\a\"b.dds", "x.dds", "c.dds"]);
    assert_eq!(scan(&json[..]).unwrap().kind, FileKind::JsonMaterial);
}

#[test]
fn what_is_no_mesh_is_refused() {
    for bytes in [&b""[..], b"DDS ", b"Gamebryo File Format, Version", &[b' '; 400]] {
        assert!(matches!(scan(bytes), Err(MeshError::Unknown)), "{bytes:?}");
    }
}

#[test]
fn more_names_than_a_mesh_can_have_are_an_error() {
    let all: Vec<String> = (0..=bsafs::limits::MESH_NAMES_MAX).map(|it| format!("{it}.dds")).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    assert!(matches!(scan(&Nif::SkyrimSe.naming(&all)[..]), Err(MeshError::TooManyNames)));
    assert_eq!(names(&Nif::SkyrimSe.naming(&all[1..])).len(), all.len() - 1);
}

#[test]
fn names_lead_to_the_paths_at_which_the_engine_searches() {
    let of = |stored| searched(stored, false);
    assert_eq!(of("Textures\\Armor\\A.dds"), ["textures/armor/a.dds"]);
    assert_eq!(of("armor/a.dds"), ["textures/armor/a.dds"]);
    assert_eq!(of("\\\\textures\\\\a.dds"), ["textures/a.dds"]);
    assert_eq!(of("Data\\textures\\a.dds"), ["textures/a.dds"]);
    assert_eq!(of("data\\a.dds"), ["textures/a.dds"]);
    assert_eq!(of("C:\\Projects\\Data\\old\\Build\\PC\\Data\\Textures\\a.dds"), ["textures/a.dds"]);
    assert_eq!(of("D:/My Mods/textures/new/a.dds"), ["textures/new/a.dds"]);
    assert_eq!(of("data files\\textures\\tew\\a.tga")[0], "textures/tew/a.dds");
    assert_eq!(of("..\\MyMod\\Textures\\a.dds"), ["textures/a.dds"]);
    // A folder of the game may be called so, too.
    assert_eq!(of("textures\\data\\a.dds"), ["textures/data/a.dds"]);
    assert_eq!(of("clutter\\data\\a.dds"), ["textures/clutter/data/a.dds"]);
    assert_eq!(of("C:\\Data\\textures\\data\\a.dds"), ["textures/data/a.dds"]);
    assert_eq!(of("textures\\x\\..\\a.dds"), ["textures/a.dds"]);
    assert_eq!(of("..\\..\\a.dds"), ["textures/a.dds"]);
    assert_eq!(of("a.tga"), ["textures/a.dds", "textures/a.tga"]);
    assert_eq!(of("rock.BGSM"), ["materials/rock.bgsm"]);
    assert_eq!(of("C:\\x\\Data\\Materials\\rock.bgsm"), ["materials/rock.bgsm"]);
    assert_eq!(of("Actors\\a.hkx"), ["meshes/actors/a.hkx"]);
}

#[test]
fn morrowinds_names_are_also_searched_without_their_folders() {
    let all = ["textures/x/a.dds", "textures/x/a.bmp", "textures/a.dds", "textures/a.bmp"];
    assert_eq!(searched("x\\a.bmp", true), all);
    assert_eq!(searched("a.tga", true), ["textures/a.dds", "textures/a.tga"]);
    assert_eq!(searched("bookart\\a.tga", true)[0], "bookart/a.dds");
}

/// A NIF as games read it, with the header of its version, two blocks and one root.
fn whole_nif(version: u32, bethesda: u32) -> Vec<u8> {
    let sized = |text: &[u8]| [&u32::try_from(text.len()).unwrap().to_le_bytes(), text].concat();
    let short = |text: &[u8]| [&[u8::try_from(text.len()).unwrap()], text].concat();
    let number = |number: u32| number.to_le_bytes().to_vec();
    let block = [sized(br"textures\a.dds"), vec![7; 20]].concat();
    let types = [sized(b"NiNode"), sized(b"BSTriShape")].concat();
    let roots = [number(1), number(0)].concat();
    if version == 0x0400_0002 {
        let blocks = [sized(b"NiNode"), block.clone(), sized(b"NiTriShape"), block].concat();
        return [
            &b"NetImmerse File Format, Version 4.0.0.2\n"[..],
            &number(version),
            &number(2),
            &blocks,
            &roots,
        ]
        .concat();
    }
    let scripts = match bethesda {
        131.. => [short(b"author\0"), number(0), short(b"script\0"), short(b"path\0")].concat(),
        103.. => [short(b"author\0"), short(b"\0"), short(b"\0"), short(b"path\0")].concat(),
        _ => [short(b"author\0"), short(b"\0"), short(b"\0")].concat(),
    };
    let is_sized = version == 0x1402_0007;
    let lengths = if is_sized { number(u32::try_from(block.len()).unwrap()).repeat(2) } else { vec![] };
    let strings = if is_sized { [number(1), number(9), sized(b"Scene Roo")].concat() } else { vec![] };
    let line = if is_sized { "20.2.0.7" } else { "20.0.0.5" };
    [
        format!("Gamebryo File Format, Version {line}\n").as_bytes(),
        &number(version),
        &[1],
        &[number(11), number(2), number(bethesda)].concat(),
        &scripts,
        &[2, 0],
        &types,
        &[0, 0, 1, 0],
        &lengths,
        &strings,
        &number(0),
        &block.repeat(2),
        &roots,
    ]
    .concat()
}

#[test]
fn a_mesh_or_material_that_is_cut_off_anywhere_has_no_list_of_names() {
    let games = [
        (0x0400_0002, 0),
        (0x1400_0005, 11),
        (0x1402_0007, 34),
        (0x1402_0007, 100),
        (0x1402_0007, 130),
        (0x1402_0007, 155),
    ];
    for (version, bethesda) in games {
        let whole = whole_nif(version, bethesda);
        assert_eq!(names(&whole), [r"textures\a.dds"], "{version:x} {bethesda}");
        let start = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        for end in start..whole.len() {
            let cut = scan(&whole[..end]);
            assert!(matches!(cut, Err(MeshError::CutOff)), "{version:x} {bethesda} cut to {end}: {cut:?}");
        }
    }
    // What follows the roots is not read by games.
    assert_eq!(names(&[whole_nif(0x1402_0007, 100), vec![9; 5]].concat()), [r"textures\a.dds"]);
    let material = bgsm(&["rock_d.dds", "rock_n.dds", "", ""]);
    for end in [4, 8, 62, 63, 66, 70, material.len() - 30] {
        assert!(matches!(scan(&material[..end]), Err(MeshError::CutOff)), "material cut to {end}");
    }
    let json = br#"{"Objects":[{"FileName":"Data/Textures/a.dds"}]}"#;
    assert_eq!(names(json), ["Data/Textures/a.dds"]);
    for end in 1..json.len() {
        assert!(matches!(scan(&json[..end]), Err(MeshError::CutOff)), "{end}");
    }
}
