//! What the fuzz targets of plugins and INI files start from.

use super::Seed;

/// Plugins of every engine, INI files of every encoding and form.
pub(super) fn seeds() -> Vec<Seed> {
    let plugins = plugins().into_iter().map(|(name, bytes)| Seed { target: "plugin", name, bytes });
    let inis = inis().into_iter().map(|(name, bytes)| Seed { target: "ini", name: name.to_owned(), bytes });
    plugins.chain(inis).collect()
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
