//! A look at the schema in the metadata of a Parquet file before the library reads it: the library makes room for as many
//! columns as a group says it has, and goes as deep as groups lie in each other.

/// Elements of a schema whose groups lie in each other: the columns that are refused by name later.
const MAX_NESTED_ELEMENTS: u64 = 200;

/// Structures within structures of the metadata.
const MAX_DEPTH: usize = 16;

/// Types of Thrift's compact protocol.
const BYTE: u8 = 3;
const I32: u8 = 5;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const SET: u8 = 10;
const MAP: u8 = 11;
const STRUCT: u8 = 12;

/// Whether the schema says no more than it holds; `None` for metadata that cannot be followed.
///
/// * `metadata`: `FileMetaData` of parquet-format; its second field is a list of `SchemaElement`, whose fifth is the
///   number of children.
pub(super) fn is_bounded(metadata: &[u8]) -> Option<bool> {
    let mut bytes = metadata;
    let mut id = 0;
    while let Some(kind) = field(&mut bytes, &mut id)? {
        if (id, kind) != (2, LIST) {
            skip(&mut bytes, kind, 0)?;
            continue;
        }
        let (n_elements, STRUCT) = list(&mut bytes)? else { return None };
        let mut is_nested = false;
        for element_idx in 0..n_elements {
            let n_children = children(&mut bytes)?;
            if n_children > n_elements {
                return Some(false);
            }
            is_nested |= element_idx > 0 && n_children > 0;
        }
        return Some(!is_nested || n_elements <= MAX_NESTED_ELEMENTS);
    }
    None
}

/// The number of children of a schema's element.
fn children(bytes: &mut &[u8]) -> Option<u64> {
    let mut n_children = 0;
    let mut id = 0;
    while let Some(kind) = field(bytes, &mut id)? {
        if (id, kind) == (5, I32) {
            let number = varint(bytes)?;
            // Signs alternate; less than none is as bad as too many.
            n_children = if number % 2 == 0 { number / 2 } else { u64::MAX };
        } else {
            skip(bytes, kind, 0)?;
        }
    }
    Some(n_children)
}

/// The type of the next field, with its number in `id`; nothing at the end of the structure.
#[expect(clippy::option_option, reason = "cut off, or the end of the structure")]
fn field(bytes: &mut &[u8], id: &mut u64) -> Option<Option<u8>> {
    let head = byte(bytes)?;
    if head == 0 {
        return Some(None);
    }
    // A number is written as the step from the one before where that is small.
    *id = if head >> 4 == 0 { varint(bytes)? / 2 } else { id.checked_add(u64::from(head >> 4))? };
    Some(Some(head & 0x0f))
}

/// Number and type of the elements of a list.
fn list(bytes: &mut &[u8]) -> Option<(u64, u8)> {
    let head = byte(bytes)?;
    let n = if head >> 4 == 15 { varint(bytes)? } else { u64::from(head >> 4) };
    // An element has a byte at least.
    (n <= bytes.len() as u64).then_some((n, head & 0x0f))
}

fn skip(bytes: &mut &[u8], kind: u8, depth: usize) -> Option<()> {
    if depth > MAX_DEPTH {
        return None;
    }
    match kind {
        // True and false.
        1 | 2 => Some(()),
        BYTE => byte(bytes).map(|_| ()),
        4..=6 => varint(bytes).map(|_| ()),
        DOUBLE => take(bytes, 8),
        BINARY => {
            let n = varint(bytes)?;
            take(bytes, n)
        }
        LIST | SET => {
            let (n, kind) = list(bytes)?;
            (0..n).try_for_each(|_| skip_element(bytes, kind, depth))
        }
        MAP => {
            let n = varint(bytes)?;
            if n == 0 {
                return Some(());
            }
            let kinds = byte(bytes)?;
            (0..n).try_for_each(|_| {
                skip_element(bytes, kinds >> 4, depth)?;
                skip_element(bytes, kinds & 0x0f, depth)
            })
        }
        STRUCT => {
            let mut id = 0;
            while let Some(kind) = field(bytes, &mut id)? {
                skip(bytes, kind, depth + 1)?;
            }
            Some(())
        }
        _ => None,
    }
}

/// Truth values have a byte of their own within lists and maps.
fn skip_element(bytes: &mut &[u8], kind: u8, depth: usize) -> Option<()> {
    if kind == 1 || kind == 2 { take(bytes, 1) } else { skip(bytes, kind, depth + 1) }
}

fn byte(bytes: &mut &[u8]) -> Option<u8> {
    let (first, rest) = bytes.split_first()?;
    *bytes = rest;
    Some(*first)
}

fn take(bytes: &mut &[u8], n: u64) -> Option<()> {
    *bytes = bytes.get(usize::try_from(n).ok()?..)?;
    Some(())
}

/// A number of seven bits a byte, the least significant first.
pub(super) fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..63).step_by(7) {
        let part = byte(bytes)?;
        value |= u64::from(part & 0x7f) << shift;
        if part & 0x80 == 0 {
            return Some(value);
        }
    }
    // A negative number of 64 bits has ten bytes.
    byte(bytes).map(|_| u64::MAX)
}
