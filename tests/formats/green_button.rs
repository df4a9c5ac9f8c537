//! Green Button. Times are instants: in the zone of the base file (New York) the two days have 23 and 25 hours, which
//! the daily export says and the hourly import follows without a gap.

use std::fmt::Write as _;

use samebill::usage::{ReadOptions, StampSide, inspect, open};

use super::told::{check_changes, fixture, mutate, told, zone};

const IN: &str = "41/import 8 4.2 substituted=1 estimated=1 gaps=1";
const OUT: &str = "41/export 2 10 gaps=1";
const REACTIVE: &str = "41/import varh 1 -";

fn base() -> String {
    fixture("green_button/two_clock_changes.xml")
}

/// What is told of the base file with another import.
fn with_in(told: &str) -> String {
    format!("41/import {told}; {OUT}; {REACTIVE}")
}

#[test]
fn the_base_file_is_read() {
    let expected = format!("{IN}; {OUT}; {REACTIVE}");
    let plain = ReadOptions::default();
    assert_eq!(told(base(), &plain), expected);
    assert_eq!(told(base(), &zone("America/New_York")), expected, "the file's local time is that zone's");
    assert_eq!(told(base(), &zone("America/Chicago")), format!("{expected} | time_zone_contradicts"));
    assert_eq!(told(base(), &zone("America/Bogota")), format!("{expected} | time_zone_contradicts"), "no summer time");
    let never = base().replace("360E2000", "FFFFFFFF");
    assert_eq!(told(never, &zone("America/Bogota")), expected);
    let marked = format!("\u{feff}\n\n{}", base().split_once('\n').unwrap().1.replace('\n', "\r\n"));
    assert_eq!(told(marked, &plain), expected, "mark, blank lines, CRLF");
    let utf16: Vec<u8> = base().encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(told(utf16, &plain), format!("{expected} | charset_assumed"));
    let file = open(std::io::Cursor::new(base()), &plain).unwrap();
    let found = inspect(file, &[]).unwrap();
    let spans: Vec<_> = found.series.iter().map(|s| (s.first_start.as_deref(), s.last_end.as_deref())).collect();
    let (start, end) = (Some("2026-03-08T05:00:00Z"), Some("2026-11-01T08:00:00Z"));
    assert_eq!(spans[0], (start, end));
    assert_eq!(spans[1], (start, Some("2026-11-02T05:00:00Z")), "days of 23 and 25 hours");
    assert_eq!(found.series[2].unit, "varh");
}

#[test]
fn any_prefix_or_none_is_the_same() {
    let expected = told(base(), &ReadOptions::default());
    let other = base().replace("espi:", "ns1:").replace("xmlns:espi", "xmlns:ns1");
    assert_eq!(told(other, &ReadOptions::default()), expected);
    let mut none =
        base().replace("<espi:", "<").replace("</espi:", "</").replace("xmlns:espi=\"http://naesb.org/espi\"", "");
    for resource in
        ["UsagePoint", "LocalTimeParameters", "ReadingType", "MeterReading", "IntervalBlock", "UsageSummary"]
    {
        for end in [">", "/>"] {
            let tag = format!("<{resource}{end}");
            none = none.replace(&tag, &format!("<{resource} xmlns=\"http://naesb.org/espi\"{end}"));
        }
    }
    assert_eq!(told(none, &ReadOptions::default()), expected);
    let atom = base().replace("xmlns=\"http://www.w3.org/2005/Atom\"", "xmlns:a=\"http://www.w3.org/2005/Atom\"");
    let atom = ["feed", "entry", "content", "link", "title"].iter().fold(atom, |text, name| {
        text.replace(&format!("<{name}"), &format!("<a:{name}")).replace(&format!("</{name}"), &format!("</a:{name}"))
    });
    assert_eq!(told(atom, &ReadOptions::default()), expected);
}

/// The entries of the base file.
fn entries() -> (String, Vec<String>) {
    let base = base();
    let (head, rest) = base.split_once("<entry>").unwrap();
    let rest = rest.strip_suffix("</feed>\n").unwrap();
    (head.to_owned(), rest.split("<entry>").map(|entry| format!("<entry>{entry}")).collect())
}

fn feed(head: &str, entries: &[String]) -> String {
    format!("{head}{}</feed>\n", entries.concat())
}

#[test]
fn links_pair_and_not_the_order() {
    let sorted = |text: &str| {
        let mut series: Vec<String> = text.split("; ").map(str::to_owned).collect();
        series.sort();
        series
    };
    let expected = sorted(&told(base(), &ReadOptions::default()));
    let (head, mut entries) = entries();
    for turn in 0..entries.len() {
        entries.rotate_left(1);
        let found = told(feed(&head, &entries), &ReadOptions::default());
        assert_eq!(sorted(&found), expected, "turned by {turn}");
    }
    entries.reverse();
    assert_eq!(sorted(&told(feed(&head, &entries), &ReadOptions::default())), expected);
    // Links after the content, and the content after nothing.
    let late = entries.iter().map(|entry| {
        let (before, rest) = entry.split_once(" <link").unwrap();
        let (links, rest) = rest.split_once("\n <title>").unwrap();
        let (content, end) = rest.split_once("</entry>").unwrap();
        format!("{before}<title>{content} <link{links}\n</entry>{end}")
    });
    let late: Vec<String> = late.collect();
    assert_eq!(sorted(&told(feed(&head, &late), &ReadOptions::default())), expected);
}

#[test]
fn without_links_the_only_one_of_each_is_meant() {
    let reading_type = |uom: &str| {
        format!(
            "<ReadingType xmlns=\"http://naesb.org/espi\"><flowDirection>1</flowDirection>\
             <uom>{uom}</uom></ReadingType>"
        )
    };
    let reading = |start: u64| {
        format!(
            "<IntervalReading><timePeriod><duration>900</duration><start>{start}</start></timePeriod>\
             <value>250</value></IntervalReading>"
        )
    };
    let block = format!(
        "<IntervalBlock xmlns=\"http://naesb.org/espi\">{}{}</IntervalBlock>",
        reading(1_767_225_600),
        reading(1_767_226_500)
    );
    let feed = |parts: &[&str]| format!("<feed>{}</feed>", parts.concat());
    let plain = ReadOptions::default();
    let told_of = |parts: &[&str]| told(feed(parts), &plain);
    let (wh, varh) = (reading_type("72"), reading_type("73"));
    assert_eq!(told_of(&[&block, &wh]), "import 2 0.5 | accumulation_assumed");
    assert_eq!(
        told_of(&[&wh, &format!("<entry><content>{block}</content><content/></entry>")]),
        "import 2 0.5 | accumulation_assumed"
    );
    assert_eq!(told_of(&[&block, &wh, &varh]), "unit_needed@1 uom");
    assert_eq!(told_of(&[&block]), "unit_needed@1 uom");
    let in_kwh = ReadOptions { unit: Some("kWh".parse().unwrap()), ..ReadOptions::default() };
    assert_eq!(told(feed(&[&block]), &in_kwh), "other 2 500 | accumulation_assumed");
    // Two blocks of one entry, and a block whose readings have no times of their own.
    let later = block.replace("1767225600", "1767229200").replace("1767226500", "1767230100");
    assert_eq!(told_of(&[&wh, &block, &later]), "import 4 1 gaps=1 | accumulation_assumed");
    let steps = "<IntervalBlock xmlns=\"http://naesb.org/espi\"><interval><start>1767225600</start></interval>\
                 <IntervalReading><value>1</value></IntervalReading><IntervalReading><value>2</value></IntervalReading>\
                 </IntervalBlock>";
    let hourly = wh.replace("<uom>", "<intervalLength>3600</intervalLength><uom>");
    assert_eq!(told_of(&[&hourly, steps]), "import 2 0.003 | accumulation_assumed");
    assert_eq!(told_of(&[&wh, steps]), "bad_time@1 timePeriod/start");
}

#[test]
fn a_change_of_one_line_is_told() {
    let base = base();
    let line = |n: usize| format!("{}\n", base.lines().nth(n - 1).unwrap());
    let (first, second) = (line(66), line(67));
    let same = format!("{first}{first}");
    let other = format!("{first}{}", first.replace(">703<", ">704<"));
    let overlap = second.replace("1772949600", "1772948700");
    let of_type = |from: &str, to: &str| {
        (
            format!("<espi:flowDirection>1</espi:flowDirection>{from}"),
            format!("<espi:flowDirection>1</espi:flowDirection>{to}"),
        )
    };
    let (uom_at, _) = of_type(
        "<espi:intervalLength>3600</espi:intervalLength><espi:kind>12</espi:kind>\
         <espi:powerOfTenMultiplier>0</espi:powerOfTenMultiplier><espi:uom>72<",
        "",
    );
    let uom =
        |power: &str, uom: &str| uom_at.replace(">0<", &format!(">{power}<")).replace(">72<", &format!(">{uom}<"));
    let with_in_qualities = |told: &str| with_in(&format!("{told} substituted=1 estimated=1 gaps=1"));
    let acc = "<espi:accumulationBehaviour>4<";
    let q = "<espi:quality>8<";
    check_changes(
        &base,
        &ReadOptions::default(),
        &[
            (&second, "", &with_in("7 3.593 substituted=1 gaps=2")),
            (&first, &same, &with_in("8 4.2 substituted=1 estimated=1 repeats=1 gaps=1")),
            (&first, &other, &with_in_qualities("8 4.2").replacen(" gaps=1", " gaps=1 conflict@66+67", 1)),
            (&second, &overlap, &with_in("7 3.593 substituted=1 gaps=2 overlap@66+67")),
            (">703<", ">-703<", &with_in_qualities("8 2.794")),
            (">703<", ">0.12345678901234<", &with_in_qualities("8 3.497123")),
            (">703<", "> 703\n<", &with_in_qualities("8 4.2")),
            (">703<", ">7&#48;3<", &with_in_qualities("8 4.2")),
            (">703<", "><![CDATA[703]]><", &with_in_qualities("8 4.2")),
            (">703<", "><!-- 1 -->703<", &with_in_qualities("8 4.2")),
            (">703<", ">&seven;<", "bad_xml@66"),
            (">703<", ">7e2<", "bad_number@66 value"),
            (">703<", "><", &with_in("7 3.497 substituted=1 estimated=1 blank=1 gaps=2")),
            (">703<", ">99999999999<", "bad_number@66 value"),
            (
                ">1772946000</espi:start></espi:timePeriod>",
                ">1772946001</espi:start></espi:timePeriod>",
                "bad_time@66 timePeriod/start",
            ),
            (
                ">1772946000</espi:start></espi:timePeriod>",
                ">253402300799</espi:start></espi:timePeriod>",
                "bad_time@66 timePeriod/start",
            ),
            (
                ">1772946000</espi:start></espi:timePeriod>",
                ">noon</espi:start></espi:timePeriod>",
                "bad_number@66 timePeriod/start",
            ),
            (&first, &first.replace(">3600<", ">7200<"), "interval_length@66 timePeriod/duration"),
            (
                &first,
                &first.replace(">3600<", ">2678400<"),
                &format!("{} | longer_than_a_day", with_in_qualities("7 3.497")),
            ),
            (&first, &first.replace("<espi:duration>3600</espi:duration>", ""), &with_in_qualities("8 4.2")),
            (q, "<espi:quality>0<", &with_in("8 4.2 substituted=1 gaps=1")),
            (q, "<espi:quality>9<", &with_in_qualities("8 4.2")),
            (q, "<espi:quality>10<", &format!("{} | questionable_reading", with_in_qualities("8 4.2"))),
            (q, "<espi:quality>11<", &with_in("8 4.2 substituted=1 gaps=1")),
            (q, "<espi:quality>12<", &with_in_qualities("8 4.2")),
            (q, "<espi:quality>13<", &with_in_qualities("8 4.2")),
            (q, "<espi:quality>14<", &with_in("8 4.2 substituted=1 gaps=1")),
            (q, "<espi:quality>15<", &with_in_qualities("8 4.2")),
            (q, "<espi:quality>16<", &with_in("8 4.2 substituted=1 gaps=1")),
            (q, "<espi:quality>18<", &with_in("8 4.2 substituted=1 gaps=1")),
            (q, "<espi:quality>1<", "bad_quality@67 ReadingQuality/quality"),
            (
                ">17</espi:defaultQuality>",
                ">8</espi:defaultQuality>",
                &with_in("8 4.2 substituted=1 estimated=6 gaps=1"),
            ),
            (&uom_at, &uom("3", "72"), &with_in_qualities("8 4200")),
            (&uom_at, &uom("-3", "72"), &with_in_qualities("8 0.0042")),
            (&uom_at, &uom("99", "72"), "bad_number@64 powerOfTenMultiplier"),
            (&uom_at, &uom("0", "38"), &with_in_qualities("8 4.2").replace("41/import 8", "41/import W 8")),
            (&uom_at, &uom("0", "29"), &with_in_qualities("8 -").replace("41/import 8", "41/import V 8")),
            (
                acc,
                "<espi:accumulationBehaviour>12<",
                &with_in_qualities("8 -").replace("41/import 8", "41/import Wh 8"),
            ),
            (
                ">1</espi:flowDirection>",
                ">4</espi:flowDirection>",
                &with_in_qualities("8 4.2").replace("41/import 8", "41/net 8"),
            ),
            (
                ">1</espi:flowDirection>",
                ">20</espi:flowDirection>",
                &with_in_qualities("8 4.2").replace("41/import 8", "41/total 8"),
            ),
            (
                ">1</espi:flowDirection>",
                ">19</espi:flowDirection>",
                &format!("41/export 8 4.2 substituted=1 estimated=1 gaps=1; 41/export out 2 10 gaps=1; {REACTIVE}"),
            ),
            (
                ">1</espi:commodity>",
                ">7</espi:commodity>",
                &with_in_qualities("8 -").replace("41/import 8", "41/not electricity, Wh 8"),
            ),
            ("<espi:kind>0</espi:kind>", "<espi:kind>1</espi:kind>", "not_electricity"),
            ("<feed", "<!DOCTYPE feed [<!ENTITY a \"b\">]>\n<feed", "bad_xml@2"),
            ("</feed>", "", "bad_xml@124"),
            ("</feed>", "</feed><feed/>", "bad_xml@123"),
            ("</feed>", "</feed>tail", "bad_xml@123"),
            ("</espi:IntervalBlock>", "</espi:IntervalBlok>", "bad_xml@70"),
        ],
    );
}

#[test]
fn standings_become_energy_by_their_differences() {
    let (head, entries) = entries();
    let registers: Vec<String> = entries
        .iter()
        .map(|entry| entry.replace("<espi:accumulationBehaviour>4<", "<espi:accumulationBehaviour>3<"))
        .collect();
    // 703, 607, 550, 640 Wh: falls twice, then rises once; then 410 to 440.
    let found = told(feed(&head, &registers), &ReadOptions::default());
    assert!(found.starts_with("41/import register 4 0.12 "), "{found}");
    assert!(found.contains("register_fell register_fell"), "{found}");
    let start = |stamp| {
        let options = ReadOptions { stamp, ..ReadOptions::default() };
        let file = open(std::io::Cursor::new(feed(&head, &registers)), &options).unwrap();
        inspect(file, &[]).unwrap().series[0].first_start.clone().unwrap()
    };
    // From the standing at the end of the third hour; it is of the start of its period only where that is said.
    assert_eq!(start(None), "2026-03-08T08:00:00Z");
    assert_eq!(start(Some(StampSide::Start)), "2026-03-08T07:00:00Z");
}

#[test]
fn usage_points_stay_apart() {
    let (head, entries) = entries();
    let second: Vec<String> =
        entries.iter().map(|entry| entry.replace("UsagePoint/41", "UsagePoint/42").replace(">703<", ">704<")).collect();
    let found = told(feed(&head, &[entries.clone(), second].concat()), &ReadOptions::default());
    let expected = format!(
        "{IN}; {OUT}; {REACTIVE}; {}",
        format!("{IN}; {OUT}; {REACTIVE}").replace("41/", "42/").replace("4.2", "4.201")
    );
    assert_eq!(found, expected);
    // The same number under another subscription is another meter.
    let other: Vec<String> = entries.iter().map(|entry| entry.replace("Subscription/7", "Subscription/8")).collect();
    let found = told(feed(&head, &[entries, other].concat()), &ReadOptions::default());
    assert!(found.contains("Subscription/8/UsagePoint/41/import 8 4.2"), "{found}");
}

#[test]
fn a_file_cut_anywhere_is_refused() {
    let base = base();
    for n in (base.find("naesb.org/espi").unwrap() + 30..base.trim_end().len()).step_by(7) {
        let found = told(&base[..n], &ReadOptions::default());
        assert!(found.starts_with("bad_xml@"), "{n}: {found}");
    }
    let forced = ReadOptions { format: Some("green_button".to_owned()), ..ReadOptions::default() };
    assert_eq!(told("", &forced), "no_readings");
    assert_eq!(told(" \n", &forced), "no_readings");
    assert_eq!(told("start,kwh\n", &forced), "bad_xml@1");
    assert_eq!(told("<feed xmlns:e=\"http://naesb.org/espi\"/>", &ReadOptions::default()), "no_readings");
}

#[test]
fn hostile_feeds_are_refused_early() {
    let head = "<feed xmlns:e=\"http://naesb.org/espi\">";
    let plain = ReadOptions::default();
    let mut laughs = "<!DOCTYPE feed [<!ENTITY a0 \"ha\">".to_owned();
    for n in 1..30 {
        write!(laughs, "<!ENTITY a{n} \"&a{0};&a{0};\">", n - 1).unwrap();
    }
    assert_eq!(told(format!("{laughs}]>{head}&a29;</feed>"), &plain), "bad_xml@1");
    let attributes: String = (0..200_000).map(|n| format!(" a{n}=\"\"")).collect();
    assert_eq!(told(format!("{head}<entry{attributes}/></feed>"), &plain), "bad_xml@1");
    let namespaces: String = (0..30_000).map(|n| format!(" xmlns:a{n}=\"u\"")).collect();
    assert_eq!(told(format!("{head}<entry{namespaces}/></feed>"), &plain), "bad_xml@1");
    assert_eq!(told(format!("{head}\n{}", "<a>".repeat(10_000)), &plain), "bad_xml@2");
    assert_eq!(told(format!("{head}\n{}", "x".repeat(2 << 20)), &plain), "bad_xml@2");
    assert_eq!(told(format!("{head}\n<!--{}", "x".repeat(2 << 20)), &plain), "bad_xml@2");
    assert_eq!(told(format!("{head}\n<e:ReadingType><e:uom>{}", "7&#50;".repeat(10_000)), &plain), "bad_xml@2 uom");
    // A text without an end is not read to its end.
    let mut endless = Endless { head: head.as_bytes().to_vec(), at: 0, taken: 0 };
    let error = open(&mut endless, &plain).unwrap_err();
    assert_eq!(error.code.as_str(), "bad_xml");
    assert!(endless.taken < 4 << 20, "{} bytes were read", endless.taken);
}

/// A head and then the same byte for ever.
struct Endless {
    head: Vec<u8>,
    at: usize,
    taken: usize,
}

impl std::io::Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        for byte in buffer.iter_mut() {
            *byte = self.head.get(self.at).copied().unwrap_or(b'x');
            self.at += 1;
        }
        self.taken += buffer.len();
        Ok(buffer.len())
    }
}

impl std::io::Seek for Endless {
    fn seek(&mut self, to: std::io::SeekFrom) -> std::io::Result<u64> {
        if let std::io::SeekFrom::Start(at) = to {
            self.at = usize::try_from(at).unwrap();
        }
        Ok(self.at as u64)
    }
}

#[test]
fn whatever_comes_is_read_or_refused() {
    let options = ReadOptions { format: Some("green_button".to_owned()), ..zone("America/Chicago") };
    mutate(base().as_bytes(), &options, 200);
    let (head, mut entries) = entries();
    entries.reverse();
    mutate(feed(&head, &entries).as_bytes(), &options, 100);
}
