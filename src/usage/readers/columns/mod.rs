//! What a column holds, by its heading, in the languages of the trade: English, German, French, Spanish, Italian, Dutch,
//! Japanese. Shared by the readers of tables that no supplier has shaped.

mod words;

use super::super::detect::StampSide;
use super::super::file::Direction;
use super::super::unit::Unit;
use words::{
    AMOUNTS, BEHIND, CHANNELS, CLOCKS, COST, DATES, ENDS, ENERGIES, EXPORTS, GRID_IMPORT, LENGTHS, LIKELY_REGISTERS,
    METERS, NETS, NOTES, NUMBERS, OTHER_GOODS, POWERS, QUALITIES, REGISTERS, STARTS, UNITS, USES, WHOLE,
};

/// What a column is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Role {
    /// A time, or a part of one.
    Time(TimeColumn),
    /// Numbers of a series.
    Value(ValueColumn),
    /// The meter or meter point of the row.
    Meter,
    /// The stream of the row: import, export, a register.
    Channel,
    /// How the value came to be.
    Quality,
    /// The unit of the row.
    Unit,
    /// How long the interval is, minutes.
    Minutes,
    /// Known to be no input: cost, prices, notes, weekdays, temperatures.
    Ignored,
}

/// Which time a column gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TimeColumn {
    /// What the heading says of the end it stamps.
    pub(super) side: Option<StampSide>,
    /// What the heading says it holds; the cells may hold more.
    pub(super) part: TimePart,
    /// The heading says that times are of UTC.
    pub(super) is_utc: bool,
}

/// Part of a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimePart {
    /// Date and time of day.
    Whole,
    /// A date.
    Date,
    /// A time of day.
    Clock,
}

/// What the heading of a column of numbers says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ValueColumn {
    /// Which way the energy flows.
    pub(super) direction: Direction,
    /// The word for import is one of use (`consumption`): beside a word of the grid (`import`) it is what the house used.
    pub(super) is_use: bool,
    /// Its unit.
    pub(super) unit: HeadingUnit,
    /// Whether it names energy without a unit.
    pub(super) says_energy: bool,
    /// Whether it names standings of a register.
    pub(super) register: RegisterHint,
}

/// The unit in a heading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum HeadingUnit {
    /// None.
    Unsaid,
    /// One that becomes energy.
    Energy(Unit),
    /// Another one: `kVArh`, `m3`.
    Other(&'static str),
}

/// How surely a heading names standings of a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RegisterHint {
    /// Not at all.
    No,
    /// `total`, `reading`: if the numbers only rise.
    Likely,
    /// `register`, `Zählerstand`.
    Yes,
}

/// What a heading says; `None` where nobody knows.
pub(super) fn role_of(heading: &str) -> Option<Role> {
    let folded = fold(heading);
    if !folded.is_ascii()
        && let Some(role) = japanese_role(&folded)
    {
        return Some(role);
    }
    let words = words_of(&folded);
    let has = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
    let unit = if has(OTHER_GOODS) { HeadingUnit::Other("no electricity") } else { unit_of(&words) };
    let has_sign = folded.chars().any(|c| matches!(c, '€' | '$' | '£' | '¥'));
    // A rate is a price or the name of a period; a rate in kW is power.
    let is_rate = has(&["rate"]) && unit == HeadingUnit::Unsaid;
    if has(COST) || is_rate || has_sign || has(&["p", "week"]) {
        return Some(Role::Ignored);
    }
    if unit != HeadingUnit::Unsaid {
        return Some(Role::Value(value_of(&words, unit)));
    }
    if let Some(time) = time_of(&words) {
        return Some(Role::Time(time));
    }
    if has(UNITS) {
        return Some(Role::Unit);
    }
    if has(QUALITIES) {
        return Some(Role::Quality);
    }
    let is_amount = has(AMOUNTS) || has(REGISTERS) || words.iter().any(|word| word.starts_with("reading"));
    if has(METERS) && (has(NUMBERS) || !is_amount) {
        return Some(Role::Meter);
    }
    if has(LENGTHS) {
        return Some(Role::Minutes);
    }
    if has(NOTES) {
        return Some(Role::Ignored);
    }
    if has(CHANNELS) {
        return Some(Role::Channel);
    }
    let named = [GRID_IMPORT, USES, EXPORTS, BEHIND, NETS, ENERGIES, POWERS, AMOUNTS, REGISTERS, LIKELY_REGISTERS];
    named.into_iter().any(has).then(|| Role::Value(value_of(&words, unit)))
}

/// Which way a word of a channel column says that energy flows: `import`, `Bezug`, `E1` says nothing.
pub(super) fn direction_of(word: &str) -> Direction {
    let folded = fold(word);
    match japanese_role(&folded) {
        Some(Role::Value(column)) => column.direction,
        _ => value_of(&words_of(&folded), HeadingUnit::Unsaid).direction,
    }
}

/// The time that words name. `Day` beside no other word of time is a date.
fn time_of(words: &[String]) -> Option<TimeColumn> {
    let has = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
    // "consumption period" is a time, "interval minutes" a length, "day register" a value.
    if has(LENGTHS) || has(REGISTERS) || has(AMOUNTS) {
        return None;
    }
    let side = if has(ENDS) && !has(STARTS) {
        Some(StampSide::End)
    } else if has(STARTS) {
        Some(StampSide::Start)
    } else {
        None
    };
    let part = match (has(DATES), has(CLOCKS), has(WHOLE)) {
        (true, true, _) | (_, _, true) => TimePart::Whole,
        (true, false, false) => TimePart::Date,
        (false, true, false) => TimePart::Clock,
        (false, false, false) if side.is_some() || words == ["utc"] => TimePart::Whole,
        (false, false, false) => return None,
    };
    Some(TimeColumn { side, part, is_utc: words.iter().any(|word| word == "utc" || word == "gmt") })
}

fn value_of(words: &[String], unit: HeadingUnit) -> ValueColumn {
    let has = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
    let is_feed_in = words.windows(2).any(|pair| pair[0] == "feed" && pair[1] == "in");
    let (direction, is_use) = if has(NETS) {
        (Direction::Net, false)
    } else if has(EXPORTS) || is_feed_in {
        (Direction::Export, false)
    } else if has(BEHIND) {
        (Direction::Other, false)
    } else if has(GRID_IMPORT) {
        (Direction::Import, false)
    } else if has(USES) {
        (Direction::Import, true)
    } else {
        (Direction::Other, false)
    };
    let register = if has(REGISTERS) {
        RegisterHint::Yes
    } else if has(LIKELY_REGISTERS) {
        RegisterHint::Likely
    } else {
        RegisterHint::No
    };
    ValueColumn { direction, is_use, unit, says_energy: has(ENERGIES), register }
}

fn unit_of(words: &[String]) -> HeadingUnit {
    const OTHERS: [(&str, &str); 14] = [
        ("kvarh", "kVArh"),
        ("varh", "VArh"),
        ("kvar", "kVAr"),
        ("kva", "kVA"),
        ("kvah", "kVAh"),
        ("m3", "m3"),
        ("ft3", "ft3"),
        ("therm", "therm"),
        ("therms", "therm"),
        ("ccf", "CCF"),
        ("gj", "GJ"),
        ("mj", "MJ"),
        ("volt", "V"),
        ("volts", "V"),
    ];
    for word in words {
        if let Ok(unit) = word.parse::<Unit>() {
            return HeadingUnit::Energy(unit);
        }
        if let Some((_, unit)) = OTHERS.iter().find(|(known, _)| known == word) {
            return HeadingUnit::Other(unit);
        }
    }
    HeadingUnit::Unsaid
}

/// Headings without blanks between words: what they contain tells.
fn japanese_role(folded: &str) -> Option<Role> {
    let has = |parts: &[&str]| parts.iter().any(|part| folded.contains(part));
    let time = |part| {
        let side = if has(&["終了"]) {
            Some(StampSide::End)
        } else if has(&["開始"]) {
            Some(StampSide::Start)
        } else {
            None
        };
        Some(Role::Time(TimeColumn { side, part, is_utc: false }))
    };
    let value = |direction, is_use| {
        let unit = unit_of(&words_of(folded));
        let register = if has(&["指示数", "積算", "累計"]) { RegisterHint::Yes } else { RegisterHint::No };
        Some(Role::Value(ValueColumn { direction, is_use, unit, says_energy: has(&["電力量"]), register }))
    };
    if has(&[
        "料金",
        "金額",
        "単価",
        "円",
        "曜日",
        "休祝日",
        "祝日",
        "備考",
        "気温",
        "契約メニュー",
        "事業所",
        "お客さま",
        "請求",
    ]) {
        Some(Role::Ignored)
    } else if has(&["売電", "余剰", "逆潮流"]) {
        value(Direction::Export, false)
    } else if has(&["発電"]) {
        value(Direction::Other, false)
    } else if has(&["買電", "購入", "受電"]) {
        value(Direction::Import, false)
    } else if has(&["使用量", "電力量", "消費", "使用電力", "指示数"]) {
        value(Direction::Import, true)
    } else if has(&["日時"]) {
        time(TimePart::Whole)
    } else if has(&["年月日", "日付", "月日", "対象日"]) {
        time(TimePart::Date)
    } else if has(&["時刻", "時間"]) {
        time(TimePart::Clock)
    } else if has(&["開始", "終了"]) {
        time(TimePart::Whole)
    } else if has(&["確定", "速報", "区分", "状態", "品質"]) {
        Some(Role::Quality)
    } else if has(&["供給地点", "計器"]) {
        Some(Role::Meter)
    } else if has(&["単位"]) {
        Some(Role::Unit)
    } else {
        None
    }
}

/// Lower case, without accents, full-width letters as plain ones.
pub(super) fn fold(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    let mut n_lower = 0;
    for c in text.trim().chars() {
        // startTime is two words, kWh is one.
        if c.is_ascii_uppercase() && n_lower > 1 {
            folded.push(' ');
        }
        n_lower = if c.is_lowercase() { n_lower + 1 } else { 0 };
        let c = match u32::from(c) {
            code @ 0xff01..=0xff5e => char::from_u32(code - 0xfee0).unwrap_or(c),
            0x3000 => ' ',
            _ => c,
        };
        for c in c.to_lowercase() {
            match c {
                'à' | 'á' | 'â' | 'ä' | 'ã' => folded.push('a'),
                'è' | 'é' | 'ê' | 'ë' => folded.push('e'),
                'ì' | 'í' | 'î' | 'ï' => folded.push('i'),
                'ò' | 'ó' | 'ô' | 'ö' | 'õ' => folded.push('o'),
                'ù' | 'ú' | 'û' | 'ü' => folded.push('u'),
                'ç' => folded.push('c'),
                'ñ' => folded.push('n'),
                'ß' => folded.push_str("ss"),
                '³' => folded.push('3'),
                c => folded.push(c),
            }
        }
    }
    folded
}

/// Words of a folded heading: what stands between signs and blanks. `kW h` and `kW/h` are what people mean by kWh no more
/// than `kW`: they stay apart.
fn words_of(folded: &str) -> Vec<String> {
    folded.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(heading: &str) -> String {
        match role_of(heading) {
            None => "unknown".to_owned(),
            Some(Role::Time(time)) => {
                let side = time.side.map_or(String::new(), |side| format!("{side:?} "));
                format!("{side}{:?}{}", time.part, if time.is_utc { " utc" } else { "" })
            }
            Some(Role::Value(value)) => {
                let unit = match value.unit {
                    HeadingUnit::Unsaid => String::new(),
                    HeadingUnit::Energy(unit) => format!(" {}", unit.as_str()),
                    HeadingUnit::Other(unit) => format!(" other {unit}"),
                };
                let energy = if value.says_energy { " energy" } else { "" };
                format!("{:?}{unit}{energy} {:?}", value.direction, value.register)
            }
            Some(role) => format!("{role:?}"),
        }
    }

    #[test]
    fn headings_are_understood_in_the_languages_of_the_trade() {
        for (heading, expected) in [
            ("timestamp", "Whole"),
            ("Date/Time", "Whole"),
            ("startTime", "Start Clock"),
            ("Interval End", "End Whole"),
            ("Interval start (UTC)", "Start Whole utc"),
            ("from", "Start Whole"),
            ("Date", "Date"),
            ("Datum", "Date"),
            ("Uhrzeit", "Clock"),
            ("Zeitstempel", "Whole"),
            ("Horodate", "Whole"),
            ("Fecha", "Date"),
            ("Hora", "Clock"),
            ("Giorno", "Date"),
            ("bis", "End Whole"),
            ("日時", "Whole"),
            ("年月日", "Date"),
            ("開始時刻", "Start Clock"),
            ("kWh", "Other kWh No"),
            ("Consumption (kWh)", "Import kWh No"),
            ("Verbrauch [Wh]", "Import Wh No"),
            ("import_total_kwh", "Import kWh Likely"),
            ("Einspeisung kWh", "Export kWh No"),
            ("Feed-in (kWh)", "Export kWh No"),
            ("Consommation (kWh)", "Import kWh No"),
            ("Puissance (W)", "Other W No"),
            ("Énergie soutirée", "Import energy No"),
            ("Consumo_kWh", "Import kWh No"),
            ("Energia immessa", "Export energy No"),
            ("Teruglevering", "Export No"),
            ("Zählerstand (kWh)", "Other kWh Yes"),
            ("Meter reading", "Other Likely"),
            ("Net (kWh)", "Net kWh No"),
            ("Generation (kWh)", "Other kWh No"),
            ("使用量(kWh)", "Import kWh No"),
            ("売電量", "Export No"),
            ("ご使用量（ｋＷｈ）", "Import kWh No"),
            ("Reactive (kVArh)", "Other other kVArh No"),
            ("Meter Number", "Meter"),
            ("Zähler-Nr.", "Meter"),
            ("NMI", "Meter"),
            ("供給地点特定番号", "Meter"),
            ("Status", "Quality"),
            ("Einheit", "Unit"),
            ("Richtung", "Channel"),
            ("interval_minutes", "Minutes"),
            ("COST", "Ignored"),
            ("Importe (€)", "Ignored"),
            ("Price p/kWh", "Ignored"),
            ("Kosten", "Ignored"),
            ("料金（円）", "Ignored"),
            ("曜日", "Ignored"),
            ("Notes", "Ignored"),
            ("Day of week", "Ignored"),
            ("Rate", "Ignored"),
            ("Flow rate (kW)", "Other kW No"),
            ("Time of day", "Whole"),
            ("shoe size", "unknown"),
            ("", "unknown"),
        ] {
            assert_eq!(told(heading), expected, "{heading}");
        }
    }

    #[test]
    fn words_of_a_channel_tell_the_direction() {
        for (word, expected) in [
            ("import", Direction::Import),
            ("Netzbezug", Direction::Import),
            ("Export", Direction::Export),
            ("売電", Direction::Export),
            ("E1", Direction::Other),
            ("net", Direction::Net),
        ] {
            assert_eq!(direction_of(word), expected, "{word}");
        }
    }
}
