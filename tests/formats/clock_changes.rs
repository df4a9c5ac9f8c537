use chrono_tz::America::Chicago;

use super::*;

const AUTUMN: [&str; 8] = [
    "2017-11-05T05:00:00Z",
    "2017-11-05T05:30:00Z",
    "2017-11-05T06:00:00Z",
    "2017-11-05T06:30:00Z",
    "2017-11-05T07:00:00Z",
    "2017-11-05T07:30:00Z",
    "2017-11-05T08:00:00Z",
    "2017-11-05T08:30:00Z",
];

fn autumn() -> Vec<Reading> {
    (1..).zip(AUTUMN).map(|(i, start)| measured(start, 30, i * 100_000)).collect()
}

#[test]
fn a_spring_day_has_no_second_hour_and_no_gap() {
    let usage = read_fixture("spring-local-60min.csv", Some(Chicago)).unwrap();
    let readings = import(&usage);
    assert_eq!(readings[0], measured("2017-03-12T06:00:00Z", 60, 100_000));
    assert_eq!(readings[2], measured("2017-03-12T08:00:00Z", 60, 400_000));
    assert!(readings.windows(2).all(|pair| pair[0].end() == pair[1].start));
}

#[test]
fn a_local_time_that_does_not_exist_is_refused_with_its_line() {
    assert_eq!(
        refusal(read_fixture("spring-skipped-hour.csv", Some(Chicago))),
        ("local_time_does_not_exist", Some(3), None)
    );
}

#[test]
fn local_times_without_a_zone_are_refused_and_the_flag_is_named() {
    let error = read_fixture("spring-local-60min.csv", None).unwrap_err();
    assert_eq!((error.code.as_str(), error.line), ("time_zone_needed", Some(2)));
    assert!(error.message.contains("--time-zone") && error.message.contains("time_zone"), "{error}");
}

#[test]
fn the_order_in_the_file_tells_the_first_repeated_hour_from_the_second() {
    for name in ["autumn-local-30min.csv", "autumn-newest-first.csv"] {
        let usage = read_fixture(name, Some(Chicago)).unwrap();
        assert_eq!(import(&usage), autumn(), "{name}");
        assert!(usage.warnings.is_empty(), "{name}");
    }
}

#[test]
fn repeated_hours_side_by_side_are_told_apart_too() {
    let usage = read_fixture("autumn-side-by-side.csv", Some(Chicago)).unwrap();
    let expected: Vec<Reading> = [1, 2, 3, 5, 4, 6, 7, 8]
        .into_iter()
        .zip(AUTUMN)
        .map(|(tenth, start)| measured(start, 30, tenth * 100_000))
        .collect();
    assert_eq!(import(&usage), expected);
    assert_eq!(usage.readings[&Channel::export()].len(), 8);
}

#[test]
fn one_copy_of_the_repeated_hour_is_reported() {
    let usage = read_fixture("autumn-one-copy.csv", Some(Chicago)).unwrap();
    let starts: Vec<i64> = import(&usage).iter().map(|reading| reading.start).collect();
    let expected: Vec<i64> = [0, 1, 2, 3, 6, 7].into_iter().map(|i: usize| seconds(AUTUMN[i])).collect();
    assert_eq!(starts, expected);
    assert_eq!(usage.warnings.len(), 1);
    assert_eq!((usage.warnings[0].code, usage.warnings[0].line), ("repeated_hour_once", Some(4)));
}

#[test]
fn a_local_time_that_is_there_three_times_is_refused() {
    let text = "start,kwh\n2017-11-05 00:00,1\n2017-11-05 01:00,1\n2017-11-05 01:00,2\n2017-11-05 01:00,3\n";
    let outcome = read(std::io::Cursor::new(text), &ReadOptions { time_zone: Some(Chicago), ..ReadOptions::default() });
    assert_eq!(refusal(outcome), ("local_time_ambiguous", Some(3), Some(5)));
}

#[test]
fn the_end_of_a_local_interval_may_be_written_either_way_at_a_clock_change() {
    let text = "start,end,kwh\n2017-03-12 01:00,2017-03-12 02:00,1\n2017-03-12 03:00,2017-03-12 04:00,1\n\
                2017-11-05 00:00,2017-11-05 01:00,1\n2017-11-05 01:00,2017-11-05 01:00,1\n\
                2017-11-05 01:00,2017-11-05 02:00,1\n";
    let usage =
        read(std::io::Cursor::new(text), &ReadOptions { time_zone: Some(Chicago), ..ReadOptions::default() }).unwrap();
    assert!(import(&usage).iter().all(|reading| reading.seconds == 3600));
    assert_eq!(import(&usage)[3].start, seconds("2017-11-05T06:00:00Z"));
    assert_eq!(import(&usage)[4].start, seconds("2017-11-05T07:00:00Z"));
}

#[test]
fn local_and_utc_files_of_a_year_are_one_series() {
    // The offsets of the fixture are cut off and given back by the zone.
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/usage/uk-home-30min-2013-dst.csv");
    let zone = chrono_tz::Europe::London;
    let with_offsets = std::fs::read_to_string(path).unwrap();
    let expected = read_text(&with_offsets).unwrap();
    let local: String = with_offsets
        .lines()
        .map(|line| match line.split_once(',') {
            Some((start, kwh)) if start.len() > 19 => {
                let instant = chrono::DateTime::parse_from_rfc3339(start).unwrap().with_timezone(&zone);
                format!("{},{kwh}\n", instant.format("%Y-%m-%d %H:%M"))
            }
            _ => format!("{line}\n"),
        })
        .collect();
    let usage =
        read(std::io::Cursor::new(&local), &ReadOptions { time_zone: Some(zone), ..ReadOptions::default() }).unwrap();
    assert_eq!(usage.readings, expected.readings);
    assert!(usage.warnings.is_empty());
    let mut lines: Vec<&str> = local.lines().collect();
    lines[1..].reverse();
    let backwards = lines.join("\n");
    let usage = read(std::io::Cursor::new(backwards), &ReadOptions { time_zone: Some(zone), ..ReadOptions::default() })
        .unwrap();
    assert_eq!(usage.readings, expected.readings);
}
