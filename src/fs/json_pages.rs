//! JSON as the targets of links: a target is shorter than a path, so that longer JSON is read in pages.

/// Bytes of JSON at most.
pub(crate) const JSON_MAX: usize = 1_000_000;
/// Bytes of a page: the longest target of a link is PATH_MAX less the NUL, and one is the mark.
const PAGE_LEN: usize = 4094;
/// In front of a page that others follow.
const FOLLOWED: &str = "+";
/// In front of the last page. JSON of one page has no mark.
const LAST: &str = "-";

/// A page of JSON as the target of a link; `None` beyond the last.
pub(crate) fn page(json: &str, number: usize) -> Option<String> {
    let mut pages = pages(json).enumerate().skip(number);
    let (number, text) = pages.next()?;
    Some(match pages.next() {
        Some(_) => format!("{FOLLOWED}{text}"),
        None if number > 0 => format!("{LAST}{text}"),
        None => text.to_owned(),
    })
}

/// The JSON that `read` returns the pages of, by their numbers.
///
/// # Errors
/// That of the first page that cannot be read.
pub fn read_pages<E>(mut read: impl FnMut(usize) -> Result<String, E>) -> Result<String, E> {
    let mut json = String::new();
    // More pages than that are none of ours: they could go on for ever.
    for number in 0..=JSON_MAX / PAGE_LEN + 1 {
        let page = read(number)?;
        match (page.strip_prefix(FOLLOWED), page.strip_prefix(LAST)) {
            (Some(text), _) => json.push_str(text),
            (None, last) => {
                json.push_str(last.unwrap_or(&page));
                break;
            }
        }
    }
    Ok(json)
}

/// Text in pieces of whole characters.
fn pages(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = (0..=PAGE_LEN.min(rest.len())).rev().find(|&at| rest.is_char_boundary(at))?;
        let (page, others) = rest.split_at(end);
        rest = others;
        (!page.is_empty()).then_some(page)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_of_any_length_is_read_back_from_its_pages() {
        for text in ["{}".to_owned(), "x".repeat(PAGE_LEN), "x".repeat(PAGE_LEN + 1), "aü€".repeat(5000)] {
            let mut asked = 0;
            let read = read_pages(|number| {
                asked += 1;
                let page = page(&text, number).ok_or(())?;
                assert!(page.len() <= 4095);
                Ok::<_, ()>(page)
            });
            assert_eq!((read, page(&text, asked)), (Ok(text.clone()), None));
        }
        assert_eq!(page("{}", 0).as_deref(), Some("{}"), "what fits has no mark");
    }
}
