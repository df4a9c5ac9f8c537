//! Which series of a file feed which channel of a customer: found where there is one answer, asked for where there are
//! several, never guessed between two that would count energy twice.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use itertools::Itertools as _;

use super::file::{Direction, FileSeries, SeriesLabel, UsageFile, no_readings};
use super::{Channel, ParsedUsage, Quality, Reading, Readings, UsageCode, UsageError, UsageWarning};

/// Names of series that are listed in a refusal.
const MAX_NAMES: usize = 8;

/// "This series feeds that channel", as the caller says it: `import=E1`, `controlled_load=6001234567/E2`. Several series
/// for one channel are added up.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ChannelChoice {
    /// The customer's channel.
    pub channel: Channel,
    /// Name of the series: meter and channel of the file, or one of them where it is alone.
    pub series: String,
}

impl fmt::Display for ChannelChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.channel, self.series)
    }
}

/// A text that is no choice.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} chooses no series; write CHANNEL=SERIES, as in import=E1")]
pub struct ChoiceError(String);

impl FromStr for ChannelChoice {
    type Err = ChoiceError;
    fn from_str(text: &str) -> Result<Self, ChoiceError> {
        let parts = text.split_once('=').and_then(|(channel, series)| Some((channel.trim().parse().ok()?, series)));
        match parts {
            Some((channel, series)) if !series.trim().is_empty() => {
                Ok(Self { channel, series: series.trim().to_owned() })
            }
            _ => Err(ChoiceError(text.to_owned())),
        }
    }
}

/// The channels of one customer from the series of a file.
///
/// # Errors
/// * [`UsageCode::ChannelNeeded`] when more than one series could feed a channel, or a choice names none or several.
/// * The first problem of a series that is used.
/// * [`UsageCode::NoReadings`] when none of them has a value.
pub fn choose(mut file: UsageFile, choices: &[ChannelChoice]) -> Result<ParsedUsage, UsageError> {
    let labels: Vec<SeriesLabel> = file.labels().cloned().collect();
    let wanted = match (choices.is_empty(), file.own_channels) {
        (false, _) => chosen(&labels, choices)?,
        (true, true) => own_channels(&labels)?,
        (true, false) => return found(file, &labels),
    };
    let mut parsed = parsed(&file);
    for (channel, series_idx) in wanted {
        let series = file.take_series(series_idx)?.checked()?;
        parsed.add(channel, series)?;
    }
    finish(parsed, &file)
}

/// The channels of one meter point of a file of many, found as [`choose`] finds them.
///
/// * `series_idxs`: its series.
///
/// # Errors
/// As [`choose`].
pub fn channels_of_meter(file: &mut UsageFile, series_idxs: &[usize]) -> Result<ParsedUsage, UsageError> {
    find(file, series_idxs, UsageFile::series)
}

/// Which series would feed which channel, as far as that needs no choice: what `choose` would do, without refusing.
pub(super) fn choose_labels(file: &mut UsageFile, choices: &[ChannelChoice]) -> Vec<(Channel, usize)> {
    let labels: Vec<SeriesLabel> = file.labels().cloned().collect();
    let chosen = match (choices.is_empty(), file.own_channels) {
        (false, _) => chosen(&labels, choices),
        (true, true) => own_channels(&labels),
        (true, false) => {
            let meters = energy(&labels).into_group_map_by(|(_, label)| label.meter.clone());
            let mut all = Vec::new();
            for idxs in meters.values() {
                let idxs: Vec<usize> = idxs.iter().map(|(idx, _)| *idx).collect();
                let Ok(parsed) = find(file, &idxs, UsageFile::series) else { continue };
                let is_source = |channel: &Channel, idx: usize| parsed.sources[channel].contains(&labels[idx].name());
                for channel in parsed.sources.keys() {
                    let fed = idxs.iter().copied().filter(|idx| is_source(channel, *idx));
                    all.extend(fed.map(|idx| (channel.clone(), idx)));
                }
            }
            Ok(all)
        }
    };
    chosen.unwrap_or_default()
}

fn parsed(file: &UsageFile) -> ParsedUsage {
    ParsedUsage {
        format: file.format,
        n_rows: file.n_rows,
        offset_seconds: file.offset_seconds,
        ..ParsedUsage::default()
    }
}

fn finish(mut parsed: ParsedUsage, file: &UsageFile) -> Result<ParsedUsage, UsageError> {
    // A row with a cell in every channel that came twice was counted once a channel.
    parsed.exact_repeats /= file.values_per_row;
    parsed.warnings.splice(0..0, file.warnings.iter().cloned());
    if parsed.readings.is_empty() { Err(no_readings()) } else { Ok(parsed) }
}

impl ParsedUsage {
    fn add(&mut self, channel: Channel, series: FileSeries) -> Result<(), UsageError> {
        self.blank += series.blank;
        self.exact_repeats += series.exact_repeats;
        self.sources.entry(channel.clone()).or_default().push(series.label.name());
        let readings = series.readings;
        if readings.is_empty() {
            return Ok(());
        }
        let before = self.readings.remove(&channel).unwrap_or_default();
        let sum = if before.is_empty() { readings } else { added_up(&channel, &before, &readings)? };
        self.readings.insert(channel, sum);
        Ok(())
    }

    fn note(&mut self, code: &'static str, detail: String) {
        self.warnings.push(UsageWarning { code, line: None, detail });
    }
}

/// Two series of one channel as one: intervals of both are added, others stand as they are.
fn added_up(channel: &Channel, a: &Readings, b: &Readings) -> Result<Readings, UsageError> {
    let mut sum: Vec<Reading> = Vec::with_capacity(a.len().max(b.len()));
    for reading in a.iter().merge_by(b.iter(), |a, b| a.start <= b.start) {
        match sum.last_mut() {
            Some(last) if last.start == reading.start && last.seconds == reading.seconds => {
                last.milliwatt_hours = last.milliwatt_hours.saturating_add(reading.milliwatt_hours);
                last.quality = last.quality.max(reading.quality);
            }
            Some(last) if last.end() > reading.start => {
                let message = format!("series of different intervals cannot be added up to the channel {channel}");
                return Err(UsageError::new(UsageCode::Overlap, message));
            }
            _ => sum.push(reading),
        }
    }
    // The sum of a value and of nothing is not known.
    for reading in sum.iter_mut().filter(|reading| reading.quality == Quality::Missing) {
        reading.milliwatt_hours = 0;
    }
    Ok(sum.into_iter().collect())
}

/// What our own files name as channels.
fn own_channels(labels: &[SeriesLabel]) -> Result<Vec<(Channel, usize)>, UsageError> {
    let by_name = labels.iter().enumerate().map(|(idx, label)| {
        let name = label.channel.as_deref().unwrap_or("import");
        let channel = name.parse().map_err(|e: super::ChannelError| channel_needed(e.to_string()))?;
        Ok((channel, idx))
    });
    by_name.collect()
}

/// What the caller chose.
fn chosen(labels: &[SeriesLabel], choices: &[ChannelChoice]) -> Result<Vec<(Channel, usize)>, UsageError> {
    let mut wanted = Vec::with_capacity(choices.len());
    for choice in choices {
        let name = choice.series.as_str();
        let fits: [&dyn Fn(&SeriesLabel) -> bool; 3] =
            [&|label| label.name() == name, &|label| label.channel.as_deref() == Some(name), &|label| {
                label.meter.as_deref() == Some(name)
            }];
        let found = fits.iter().map(|fits| energy(labels).filter(|(_, label)| fits(label)).collect_vec());
        let found = found.into_iter().find(|found| !found.is_empty()).unwrap_or_default();
        match found.as_slice() {
            [(idx, _)] if wanted.iter().any(|(_, other)| other == idx) => {
                let message = format!("the series {name:?} is chosen twice: its energy would count twice");
                return Err(channel_needed(message));
            }
            [(idx, _)] => wanted.push((choice.channel.clone(), *idx)),
            [] => {
                let message = format!("the file has no series {name:?} of energy; it has {}", names(labels));
                return Err(channel_needed(message));
            }
            _ => {
                let message = format!("{name:?} names several series; say which: {}", names(labels));
                return Err(channel_needed(message));
            }
        }
    }
    Ok(wanted)
}

fn energy(labels: &[SeriesLabel]) -> impl Iterator<Item = (usize, &SeriesLabel)> {
    labels.iter().enumerate().filter(|(_, label)| label.is_energy())
}

fn names(labels: &[SeriesLabel]) -> String {
    let mut names: Vec<String> = energy(labels).map(|(_, label)| label.name()).collect();
    let n_more = names.len().saturating_sub(MAX_NAMES);
    names.truncate(MAX_NAMES);
    if n_more > 0 {
        names.push(format!("{n_more} more"));
    }
    names.join(", ")
}

fn channel_needed(message: impl Into<String>) -> UsageError {
    UsageError::new(UsageCode::ChannelNeeded, message)
}

/// What the series themselves say.
fn found(mut file: UsageFile, labels: &[SeriesLabel]) -> Result<ParsedUsage, UsageError> {
    let n_meters = energy(labels).filter_map(|(_, label)| label.meter.as_deref()).unique().count();
    if n_meters > 1 {
        return Err(channel_needed(format!(
            "the file holds {n_meters} meters: choose with --channel import=SERIES (channel in the API), or import it \
             by meter point; it has {}",
            names(labels)
        )));
    }
    let idxs: Vec<usize> = energy(labels).map(|(idx, _)| idx).collect();
    find(&mut file, &idxs, UsageFile::take_series)
}

/// * `series`: how a series is had, to be had again or not.
fn find(
    file: &mut UsageFile,
    idxs: &[usize],
    series: fn(&mut UsageFile, usize) -> Result<FileSeries, UsageError>,
) -> Result<ParsedUsage, UsageError> {
    let mut by_direction: BTreeMap<Direction, Vec<FileSeries>> = BTreeMap::new();
    for idx in idxs {
        let series = series(file, *idx)?;
        if series.label.is_energy() && !(series.readings.is_empty() && series.problems.is_empty()) {
            by_direction.entry(series.label.direction).or_default().push(series);
        }
    }
    let mut take = |direction| by_direction.remove(&direction).unwrap_or_default();
    let (imports, exports) = (take(Direction::Import), take(Direction::Export));
    let (nets, others) = (take(Direction::Net), take(Direction::Other));
    let rest = take(Direction::Total);
    let mut parsed = parsed(file);
    let unused: Vec<String> = if imports.is_empty() && exports.is_empty() {
        let (code, what, series) = if nets.is_empty() {
            ("direction_assumed", "the file does not say which way the energy flows: taken as import", others)
        } else {
            ("net_as_import", "the file has import less export alone: taken as import, negative when fed in", nets)
        };
        if let Some(only) = finest(series, Direction::Import, &mut parsed)? {
            parsed.note(code, what.to_owned());
            parsed.add(Channel::import(), only.checked()?)?;
        }
        rest.iter().map(|series| series.label.name()).collect()
    } else {
        if let Some(import) = finest(imports, Direction::Import, &mut parsed)? {
            parsed.add(Channel::import(), import.checked()?)?;
        }
        if let Some(export) = finest(exports, Direction::Export, &mut parsed)? {
            parsed.add(Channel::export(), export.checked()?)?;
        }
        nets.iter().chain(&others).chain(&rest).map(|series| series.label.name()).collect()
    };
    if !unused.is_empty() {
        parsed.note(
            "series_not_used",
            format!("not used, because they repeat energy or are no import or export: {}", unused.join(", ")),
        );
    }
    finish(parsed, file)
}

/// The one series of a direction; of several that count the same energy in steps of different length, the finest.
fn finest(
    mut series: Vec<FileSeries>,
    direction: Direction,
    parsed: &mut ParsedUsage,
) -> Result<Option<FileSeries>, UsageError> {
    let seconds = |series: &FileSeries| series.readings.first().map_or(u32::MAX, |reading| reading.seconds);
    series.sort_by_key(seconds);
    let mut candidates = series.into_iter();
    let Some(finest) = candidates.next() else { return Ok(None) };
    for other in candidates {
        if seconds(&other) == seconds(&finest) || !repeats(&finest.readings, &other.readings) {
            let (word, names) = match direction {
                Direction::Export => ("export", [finest.label.name(), other.label.name()]),
                _ => ("import", [finest.label.name(), other.label.name()]),
            };
            return Err(channel_needed(format!(
                "{} and {} could both be the {word}: choose with --channel {word}={} (channel in the API); a second \
                 --channel {word}=… adds one, --channel controlled_load=… keeps one apart",
                names[0], names[1], names[0]
            )));
        }
        let detail = format!("{} has the same energy in longer steps: not used", other.label.name());
        parsed.note("coarser_copy_not_used", detail);
    }
    Ok(Some(finest))
}

/// Whether every coarse reading is the sum of the fine ones in it, to half a unit of its last decimal.
fn repeats(fine: &Readings, coarse: &Readings) -> bool {
    let mut n_compared = 0_usize;
    let fine = fine.to_vec();
    let mut rest = fine.as_slice();
    let agrees = coarse.iter().filter(|reading| reading.quality != Quality::Missing).all(|whole| {
        rest = &rest[rest.partition_point(|part| part.start < whole.start)..];
        let parts = &rest[..rest.partition_point(|part| part.end() <= whole.end())];
        let is_covered = parts.iter().map(|part| i64::from(part.seconds)).sum::<i64>() == i64::from(whole.seconds);
        let sum: i64 = parts.iter().map(|part| part.milliwatt_hours).sum();
        n_compared += usize::from(is_covered);
        // Files round each value by itself: a fine one by half of its last digit, which is seldom below a watt-hour.
        !is_covered || (sum - whole.milliwatt_hours).abs() <= 500 * (1 + i64::try_from(parts.len()).unwrap_or(0))
    });
    agrees && n_compared > 0
}
