//! Every convention of the engine as a flag, over a preset, over what the plan says.

use std::fmt;
use std::str::FromStr;

use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::tariff::{
    BrokenMonthBounds, ConventionOverrides, DailyAmounts, DatedValues, ExportRule, MissingHistory, MonthlyAmounts,
    RoundingOverride, TierAllocation, TierScope, WrappingWindow, YearlyAmounts,
};

/// A set of conventions with a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Preset {
    /// Those of NREL's System Advisor Model
    Sam,
}

/// Conventions that override those of every plan.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Conventions (each overrides plan and preset)")]
pub(super) struct ConventionFlags {
    /// A set of conventions at once
    #[arg(long, value_enum, value_name = "PRESET")]
    pub(super) conventions: Option<Preset>,
    /// What runs through the ladder of a time-of-use period
    #[arg(long, value_name = "CHOICE", value_parser = choice::<TierScope>(TierScope::CHOICES))]
    pub(super) tier_scope: Option<TierScope>,
    /// How energy is laid on the steps of a ladder
    #[arg(long, value_name = "CHOICE", value_parser = choice::<TierAllocation>(TierAllocation::CHOICES))]
    pub(super) tier_allocation: Option<TierAllocation>,
    /// What a charge per day counts
    #[arg(long, value_name = "CHOICE", value_parser = choice::<DailyAmounts>(DailyAmounts::CHOICES))]
    pub(super) daily_amounts: Option<DailyAmounts>,
    /// What a charge per month counts
    #[arg(long, value_name = "CHOICE", value_parser = choice::<MonthlyAmounts>(MonthlyAmounts::CHOICES))]
    pub(super) monthly_amounts: Option<MonthlyAmounts>,
    /// What a charge per year counts
    #[arg(long, value_name = "CHOICE", value_parser = choice::<YearlyAmounts>(YearlyAmounts::CHOICES))]
    pub(super) yearly_amounts: Option<YearlyAmounts>,
    /// The bounds of a ladder in a broken billing month
    #[arg(long, value_name = "CHOICE", value_parser = choice::<BrokenMonthBounds>(BrokenMonthBounds::CHOICES))]
    pub(super) broken_month_bounds: Option<BrokenMonthBounds>,
    /// Whose day type the hours after midnight of a wrapping window have
    #[arg(long, value_name = "CHOICE", value_parser = choice::<WrappingWindow>(WrappingWindow::CHOICES))]
    pub(super) wrapping_window: Option<WrappingWindow>,
    /// Which value a billing month takes when a dated one changes inside it
    #[arg(long, value_name = "CHOICE", value_parser = choice::<DatedValues>(DatedValues::CHOICES))]
    pub(super) dated_values: Option<DatedValues>,
    /// What a look-back does before the first reading
    #[arg(long, value_name = "CHOICE", value_parser = choice::<MissingHistory>(MissingHistory::CHOICES))]
    pub(super) missing_history: Option<MissingHistory>,
    /// Where a bill is rounded
    #[arg(long, value_name = "CHOICE", value_parser = choice::<RoundingOverride>(RoundingOverride::CHOICES))]
    pub(super) rounding: Option<RoundingOverride>,
    /// What becomes of energy fed in
    #[arg(long, value_name = "CHOICE", value_parser = choice::<ExportRule>(ExportRule::CHOICES))]
    pub(super) export: Option<ExportRule>,
}

impl ConventionFlags {
    /// Flags over the preset.
    pub(super) fn overrides(&self) -> ConventionOverrides {
        let preset = match self.conventions {
            Some(Preset::Sam) => ConventionOverrides::sam(),
            None => ConventionOverrides::default(),
        };
        let flags = ConventionOverrides {
            tier_scope: self.tier_scope,
            tier_allocation: self.tier_allocation,
            daily_amounts: self.daily_amounts,
            monthly_amounts: self.monthly_amounts,
            yearly_amounts: self.yearly_amounts,
            broken_month_bounds: self.broken_month_bounds,
            wrapping_window: self.wrapping_window,
            dated_values: self.dated_values,
            missing_history: self.missing_history,
            rounding: self.rounding,
            export: self.export,
        };
        flags.over(preset)
    }
}

/// A parser that lists its choices in the help and in the refusal.
fn choice<T>(choices: &'static [&'static str]) -> impl TypedValueParser<Value = T>
where
    T: FromStr + Clone + Send + Sync + 'static,
    T::Err: std::error::Error + fmt::Display + Send + Sync + 'static,
{
    PossibleValuesParser::new(choices).try_map(|text: String| text.parse::<T>())
}
