//! The words laid out for a terminal of 80 columns.

use std::fmt;

use textwrap::{Options, WordSplitter, WrapAlgorithm};

use super::{Explanation, counted, list, upper};

const WIDTH: usize = 80;

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        paragraph(f, "", &self.name)?;
        let offered = self.provider.iter().chain(&self.territory).cloned().collect::<Vec<_>>().join(", ");
        let currency = format!("prices in {}", self.currency);
        paragraph(f, "", &if offered.is_empty() { upper(&currency) } else { format!("{offered}; {currency}") })?;
        if let Some(zone) = &self.time_zone {
            paragraph(f, "", &format!("Hours and days are those of {zone}."))?;
        }
        if let Some(source) = &self.source {
            paragraph(f, "", &format!("Source: {source}"))?;
        }
        if let Some(notes) = &self.notes {
            paragraph(f, "", &format!("Notes: {notes}"))?;
        }

        f.write_str("\nWhat is billed\n")?;
        for charge in &self.charges {
            let kind = charge.kind.replace('_', " ");
            let mut heading = charge.charge_id.clone();
            if charge.label != charge.charge_id.replace('_', " ") {
                heading = format!("{} ({heading})", charge.label);
            }
            if !charge.label.eq_ignore_ascii_case(&kind) {
                heading = format!("{heading}, {kind}");
            }
            paragraph(f, "* ", &heading)?;
            for words in &charge.words {
                match words.strip_prefix("- ") {
                    Some(item) => paragraph(f, "    - ", item)?,
                    None => paragraph(f, "  ", words)?,
                }
            }
        }

        f.write_str("\nWhat holds for all of it\n")?;
        for rule in &self.rules {
            paragraph(f, "* ", rule)?;
        }

        f.write_str("\nWhat it needs\n")?;
        for need in self.needs() {
            paragraph(f, "* ", &need)?;
        }

        f.write_str("\nWhat is not billed\n")?;
        if self.not_billed.is_empty() {
            paragraph(f, "* ", "Nothing that the document holds.")?;
        }
        for part in &self.not_billed {
            let optional = if part.optional { " (optional: a bill is complete without it)" } else { "" };
            paragraph(f, "* ", &format!("{}: {}{optional}", part.field, part.reason))?;
        }

        if !self.warnings.is_empty() {
            f.write_str("\nWarnings\n")?;
            for warning in &self.warnings {
                paragraph(f, "* ", &upper(warning))?;
            }
        }
        for picture in &self.pictures {
            f.write_str("\n")?;
            paragraph(f, "", &picture.title)?;
            for line in &picture.lines {
                writeln!(f, "{line}")?;
            }
        }
        Ok(())
    }
}

impl Explanation {
    fn needs(&self) -> Vec<String> {
        let needs = &self.needs;
        let quantity = |one: &str, many: &str, names: &std::collections::BTreeSet<String>| match names.len() {
            0 => None,
            1 => Some(format!("{one} {}", list(names.iter().cloned()))),
            _ => Some(format!("{many} {}", list(names.iter().cloned()))),
        };
        let mut texts: Vec<String> = [
            quantity("Readings of channel", "Readings of channels", &needs.channels),
            quantity("The customer's attribute", "The customer's attributes", &needs.attributes),
            quantity("Where it is known, the attribute", "Where they are known, the attributes", &needs.conditions),
            quantity("Calendar", "Calendars", &needs.calendars),
            quantity("Price series", "Price series", &needs.price_series),
            quantity("Event list", "Event lists", &needs.event_lists),
            quantity("Plan", "Plans", &needs.plans.values().cloned().collect()),
        ]
        .into_iter()
        .flatten()
        .collect();
        if needs.look_back_months > 0 {
            texts.push(format!("Readings of {} before", counted(needs.look_back_months, "billing month")));
        }
        if texts.is_empty() {
            texts.push("Nothing besides the dates.".to_owned());
        }
        texts
    }
}

/// Wrapped lines; the first begins with `start`, the others stand below what follows it.
fn paragraph(f: &mut fmt::Formatter<'_>, start: &str, text: &str) -> fmt::Result {
    let indent = " ".repeat(start.len());
    let options = Options::new(WIDTH)
        .initial_indent(start)
        .subsequent_indent(&indent)
        .break_words(false)
        .wrap_algorithm(WrapAlgorithm::FirstFit)
        .word_splitter(WordSplitter::NoHyphenation);
    for line in textwrap::wrap(text, options) {
        writeln!(f, "{line}")?;
    }
    Ok(())
}
