//! JSON as the targets of links. A target is limited to the length of a path, so longer JSON is
//! split into pages. Only the last page is shorter than the maximum.

use crate::vfs::provenance::JSON_MAX;

/// Length of a page in bytes: the longest target of a link, which is PATH_MAX without the NUL.
pub(crate) const PAGE_LEN: usize = 4095;

/// One page of JSON as the target of a link; `None` beyond the last page.
pub(crate) fn page(mut json: String, number: usize) -> Option<Vec<u8>> {
    if json.len().is_multiple_of(PAGE_LEN) {
        // Keeps the last page shorter than the others, but not empty. JSON may end in blanks.
        json.push(' ');
    }
    json.as_bytes().chunks(PAGE_LEN).nth(number).map(<[u8]>::to_vec)
}

/// Reads JSON by its pages. `read` returns the page with a given number.
///
/// # Errors
/// The error of the first page that cannot be read.
pub fn read_pages<E>(mut read: impl FnMut(usize) -> Result<Vec<u8>, E>) -> Result<String, E> {
    let mut json = Vec::new();
    // bsafs never writes more pages, but another file system could send pages for ever.
    for number in 0..=JSON_MAX / PAGE_LEN {
        let page = read(number)?;
        json.extend_from_slice(&page);
        if page.len() < PAGE_LEN {
            break;
        }
    }
    Ok(String::from_utf8_lossy(json.trim_ascii_end()).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_of_any_length_survives_the_split_into_pages() {
        for text in ["{}".to_owned(), "x".repeat(PAGE_LEN), "x".repeat(PAGE_LEN + 1), "aü€".repeat(5000)] {
            let mut asked = 0;
            let read = read_pages(|number| {
                asked += 1;
                let page = page(text.clone(), number).ok_or(())?;
                assert!((1..=4095).contains(&page.len()));
                Ok::<_, ()>(page)
            });
            assert_eq!((read, page(text.clone(), asked)), (Ok(text), None));
        }
        assert_eq!(
            page("{}".into(), 0).as_deref(),
            Some(&b"{}"[..]),
            "a text that fits into one page must not change"
        );
    }
}
