//! Whatever comes, it is readings or a refusal: never a panic. And what is read does not depend on order or cuts.

use proptest::prelude::*;

use super::*;

/// Cells that files of trouble hold.
fn cell() -> impl Strategy<Value = String> {
    prop_oneof![
        "[0-9]{1,3}(\\.[0-9]{0,8})?",
        Just(String::new()),
        Just("2017-11-05 01:30".to_owned()),
        Just("2017-11-05 01:00".to_owned()),
        Just("2017-03-12 02:30".to_owned()),
        Just("2026-06-01T00:00:00Z".to_owned()),
        Just("2026-06-01T00:15:00Z".to_owned()),
        Just("2199-12-31T23:00:00+00:00".to_owned()),
        Just("\"".to_owned()),
        Just("missing".to_owned()),
        "\\PC{0,12}",
    ]
}

proptest! {
    #[test]
    fn no_bytes_make_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = read(std::io::Cursor::new(bytes), &ReadOptions { time_zone: Some(chrono_tz::America::Chicago), ..ReadOptions::default() });
    }

    #[test]
    fn no_cells_make_a_panic(
        header in prop_oneof![Just("start,kwh"), Just("start,end,kwh"), Just("start,import_kwh,export_kwh,quality")],
        rows in proptest::collection::vec(proptest::collection::vec(cell(), 1..5), 0..12),
    ) {
        let text = rows.iter().fold(header.to_owned(), |text, row| format!("{text}\n{}", row.join(",")));
        let _ = read(std::io::Cursor::new(text), &ReadOptions { time_zone: Some(chrono_tz::America::Chicago), ..ReadOptions::default() });
    }

    #[test]
    fn a_json_document_cut_anywhere_is_refused(n in 0usize..420) {
        let text = std::fs::read_to_string(
            PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/usage/readings.json"),
        ).unwrap();
        let text = text.trim_end();
        prop_assume!(n < text.len());
        prop_assert!(read_text(&text[..n]).is_err());
    }

    #[test]
    fn the_order_of_rows_with_offsets_does_not_matter(
        order in Just((0..48usize).collect::<Vec<_>>()).prop_shuffle(),
        missing in proptest::collection::btree_set(1usize..47, 0..6),
    ) {
        let row = |i: usize| format!("2026-06-{:02}T{:02}:{:02}:00Z,{i}.5\n", 1 + i / 48, i / 2, 30 * (i % 2));
        let there = |i: &usize| !missing.contains(i);
        let sorted: String = (0..48).filter(there).map(row).collect();
        let shuffled: String = order.into_iter().filter(there).map(row).collect();
        let expected = read_text(&format!("start,kwh\n{sorted}")).unwrap();
        prop_assert_eq!(&read_text(&format!("start,kwh\n{shuffled}")).unwrap(), &expected);
        prop_assert_eq!(expected.n_readings(), 48 - missing.len());
    }
}
