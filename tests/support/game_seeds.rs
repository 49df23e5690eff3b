//! Seeds for the fuzz targets that read plugins and settings files.

use super::Seed;

/// All seeds: plugins of every engine, INI files of every encoding and form, and files of
/// launchers, Mod Organizer 2 and OpenMW.
pub(super) fn seeds() -> Vec<Seed> {
    let plugins = plugins().into_iter().map(|(name, bytes)| Seed { target: "plugin", name, bytes });
    let inis = inis().into_iter().map(|(name, bytes)| Seed { target: "ini", name: name.to_owned(), bytes });
    let texts = [("vdf", VDF), ("yaml", YAML), ("qsettings", QSETTINGS), ("openmw", OPENMW)];
    let text = |(target, texts): (&'static str, &[&str])| -> Vec<Seed> {
        let all = texts.iter().enumerate();
        all.map(|(n, text)| Seed { target, name: format!("{target} {n}"), bytes: text.as_bytes().to_vec() })
            .collect()
    };
    plugins.chain(inis).chain(texts.into_iter().flat_map(text)).collect()
}

fn plugins() -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for (engine, extra) in [("oblivion", 0), ("later", 4)] {
        for masters in [1, 2, 20] {
            for flags in [0, 1, 0x801] {
                let mut body = field(b"HEDR", &[0; 12]);
                for master in 0..masters {
                    body.extend(field(b"MAST", format!("Gr\u{F6}e {master}.esm\0").as_bytes()));
                    body.extend(field(b"DATA", &[0; 8]));
                }
                body.extend(field(b"XXXX", &300u32.to_le_bytes()));
                body.extend([&b"ONAM\0\0"[..], &[7; 300]].concat());
                let size = (body.len() as u32).to_le_bytes();
                let head = [b"TES4", &size[..], &u32::to_le_bytes(flags), &vec![0; 8 + extra]].concat();
                all.push((format!("{engine} {masters} masters {flags:x}.esp"), [head, body].concat()));
            }
        }
    }
    let long = |kind: &[u8; 4], data: &[u8]| [kind, &(data.len() as u32).to_le_bytes()[..], data].concat();
    let body = [long(b"HEDR", &[1; 300]), long(b"MAST", b"Morrowind.esm\0"), long(b"DATA", &[0; 8])].concat();
    let head = [b"TES3", &(body.len() as u32).to_le_bytes()[..], &[0; 8]].concat();
    all.push(("morrowind.esp".into(), [head, body].concat()));
    all
}

fn field(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
    [kind, &(data.len() as u16).to_le_bytes()[..], data].concat()
}

fn inis() -> Vec<(&'static str, Vec<u8>)> {
    let wide = |text: &str, swap: bool| -> Vec<u8> {
        let units = format!("\u{FEFF}{text}").encode_utf16().collect::<Vec<_>>();
        units.iter().flat_map(|unit| if swap { unit.to_be_bytes() } else { unit.to_le_bytes() }).collect()
    };
    let plain = "[Archive]\r\nsResourceArchiveList=A.bsa, B.bsa\r\nbInvalidateOlderFiles=1\r\n";
    vec![
        ("plain.ini", plain.into()),
        ("utf-8 mark.ini", format!("\u{FEFF}{plain}").into()),
        ("utf-16 le.ini", wide(plain, false)),
        ("utf-16 be.ini", wide(plain, true)),
        ("code page.ini", b"[Archive]\nsArchiveList=Gr\xf6\xdfe.bsa\n".to_vec()),
        ("quotes.ini", b"[archive]\nk=\"'a'\"\nl='b\nm=\"\nn=\"\"\n".to_vec()),
        ("twice.ini", b"[Archive]\nk=1\nk=2\n[Other]\n[Archive]\nk=3\n".to_vec()),
        ("brackets.ini", b" [Archive] x]\n[Archive]\n[open\n[a=b\nk=1\n".to_vec()),
        ("comments.ini", b";x\n[Archive];x\n;k=1\n#k=2\nk=3 ;x\n".to_vec()),
        ("returns.ini", b"[Archive]\rk=1\rl=2\r\x1a".to_vec()),
        (
            "morrowind.ini",
            b"[Archives]\nArchive 0=A.bsa\nArchive 1=B.bsa\n[Game Files]\nGameFile0=A.esm\n".to_vec(),
        ),
        (
            "empty values.ini",
            b"[Archive]\nsResourceDataDirsFinal=\n=x\n[General]\nsLanguage = GERMAN\n".to_vec(),
        ),
    ]
}

/// Steam's lists of libraries and apps.
const VDF: &[&str] = &[
    "\"libraryfolders\"\n{\n\t\"0\"\n\t{\n\t\t\"path\"\t\t\"/home/u/.local/share/Steam\"\n\
     \t\t\"apps\"\n\t\t{\n\t\t\t\"489830\"\t\t\"1\"\n\t\t}\n\t}\n}\n",
    "\"AppState\"\r\n{\r\n\t\"appid\"\t\t\"489830\"\r\n\t\"installdir\"\t\t\"Skyrim Special Edition\"\r\n\
     \t\"UserConfig\"\r\n\t{\r\n\t\t\"language\"\t\t\"german\"\r\n\t}\r\n}\r\n",
    "\"LibraryFolders\" { \"TimeNextStatsReport\" \"1\" \"1\" \"/old\" \"2\" \"D:\\\\Games\" }",
    "a b",
    "a { b c }",
    "a { b { c d } } e { f g }",
    "\u{FEFF}a b // behind it\n// alone\nc d",
    "a b [$WIN32]\nc d [!$LINUX]",
    "\"a \\\"quoted\\\" \\n\\t\\\\\" \"\"",
    "\"\" { \"\" \"Gr\u{F6}\u{DF}e\" }",
    "a{b{c{d{e{f{g{h{i{j k}}}}}}}}}",
    "a b\0",
    "a b \"c",
    "\0shortcuts\0\x000\0\x02appid\0abcd\x01Exe\0\"/x\"\0\x07L\x00abcdefgh\x08\x08\x08",
];

/// Files of Lutris and Bottles.
const YAML: &[&str] = &[
    "game:\n  exe: /games/Skyrim/SkyrimSE.exe\n  prefix: /games/prefix\nrunner: wine\n",
    "Name: Games\nPath: Games\nExternal_Programs:\n  a:\n    \
     name: SkyrimSE.exe\n    path: /games/SkyrimSE.exe\n",
    "game: {exe: 'a b', args: [x, \"y\\tz\"]}\n",
    "a: &a {b: c}\nd: *a\n",
    "- name: n\n  list:\n  - 1\n  - 2\n- name: m\n",
    "a: |\n  one\n  two\nb: >-\n  one\n  two\n",
    "? a\n: b\n",
    "---\na: b\n---\nc: d\n",
    "%YAML 1.2\n---\na: !!str b\n...\n",
    "plain",
    "\"a\": \"\\u00f6 \\x41 \\N\"\n",
    "a:\n    b:\n        c:\n            d: Gr\u{F6}\u{DF}e # comment\n",
    "{a: {b: {c: [[[[x]]]]}}}",
];

/// Files of Mod Organizer 2.
const QSETTINGS: &[&str] = &[
    "[General]\ngameName=Skyrim Special Edition\ngamePath=@ByteArray(Z:\\\\home\\\\u\\\\Skyrim)\n\
     selected_profile=@ByteArray(Gr\\xc3\\xb6\\x9f\\x65)\n",
    "[Settings]\nbase_directory=Z:/mods\nmod_directory=%BASE_DIR%/mods\n",
    "[Settings]\nskip_file_suffixes=.mohidden, .bak\nskip_directories=.git\n",
    "[Settings]\nskip_file_suffixes=\".a,b\", \"\\\"\", c\n",
    "[General]\nLocalSettings=true\r\nselected_profile=Default\r\n",
    "\u{FEFF}[General]\ngameName=a\n",
    "[General]\ngameName=\"a \\\"b\\\" \\\\ \\n\\r\\t\"\n",
    "[General]\ngameName=\\x41\\x20ac\\xd800\\x\n",
    "[general]\ngameName=first\ngameName=last\n",
    "[General]\n;gameName=no\ngameName = yes \n",
    "[General]\ngameName=@ByteArray()\ngamePath=@ByteArray(\\x0)\n",
    "[General]\ngameName=@Invalid()\ngamePath=C:/x\n",
];

/// Settings files of OpenMW.
const OPENMW: &[&str] = &[
    "data=/games/Morrowind/Data Files\nfallback-archive=Morrowind.bsa\ncontent=Morrowind.esm\n",
    "data=\"/a &\"b&\" &&c\" ignored\n",
    "config=\"?userconfig?\"\nresources=./resources\n",
    "# comment\n  # another\ndata=.\ndata=..\ndata=../../../..\n",
    "replace=data\nreplace=config\ndata=?local?data\n",
    "data-local=\"?userdata?/data\"\ndata=?global?\n",
    "data=\"\"\nconfig=\n",
    "\u{FEFF}data=/x\r\ncontent = A.esp \r\n",
    "data=/x\ndata=\"open\nconfig=\"a&",
    "content=A.esp\ncontent=A.esp\n",
    "data=?unknown?/x\ndata=?local?/../../x\n",
    "fallback=Weather_Sunrise_Time,6\ndata=Gr\u{F6}\u{DF}e\n",
];
