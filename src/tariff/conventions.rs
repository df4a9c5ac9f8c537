//! The conventions on which engines of the trade differ: each a name, its choices, a stated default.

use serde::{Deserialize, Serialize};

/// A text that is none of the choices of a convention.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not one of {}", .choices.join(", "))]
pub struct UnknownChoice {
    /// What was written.
    pub text: String,
    /// What can be written.
    pub choices: &'static [&'static str],
}

/// An enum whose variants each have one spelling, the same in plan documents, flags and settings.
macro_rules! choices {
    ($(#[doc = $doc:literal])* $name:ident { $($(#[doc = $variant_doc:literal])* $variant:ident = $text:literal,)+ }) => {
        $(#[doc = $doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub enum $name { $($(#[doc = $variant_doc])* $variant,)+ }

        impl $name {
            /// Every spelling, the default first.
            pub const CHOICES: &'static [&'static str] = &[$($text),+];

            /// The spelling of this choice.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }
        }

        impl std::str::FromStr for $name {
            type Err = UnknownChoice;
            fn from_str(text: &str) -> Result<Self, UnknownChoice> {
                match text {
                    $($text => Ok(Self::$variant),)+
                    _ => Err(UnknownChoice { text: text.to_owned(), choices: Self::CHOICES }),
                }
            }
        }

        impl TryFrom<String> for $name {
            type Error = UnknownChoice;
            fn try_from(text: String) -> Result<Self, UnknownChoice> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(choice: $name) -> Self {
                choice.as_str().to_owned()
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let choices = [$(concat!("`", $text, "`:", $($variant_doc),*)),+].join(" ");
                let description = format!("{} {choices} The first is the default.", concat!($($doc),*).trim());
                schemars::json_schema!({"type": "string", "enum": Self::CHOICES, "description": description})
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

choices!(
    /// What runs through the ladder of a time-of-use period.
    TierScope {
        /// The total of all periods; each period gets its share of every slice.
        AllPeriods = "all_periods",
        /// The period's own energy only.
        PerPeriod = "per_period",
    }
);
choices!(
    /// How energy is laid on the steps of a ladder.
    TierAllocation {
        /// The month's sum, whatever the order.
        Prorated = "prorated",
        /// Reading after reading; one that crosses a bound is split there.
        Chronological = "chronological",
    }
);
choices!(
    /// What a charge per day counts.
    DailyAmounts {
        /// Local days.
        ActualDays = "actual_days",
        /// 365/12 a billing month.
        AverageMonth = "average_month",
    }
);
choices!(
    /// What a charge per month counts.
    MonthlyAmounts {
        /// 1 a billing month; a registered cycle of two months is 2; a broken one its share by days.
        Whole = "whole",
        /// Each calendar month's days over its length.
        ByDays = "by_days",
    }
);
choices!(
    /// What a charge per year counts.
    YearlyAmounts {
        /// Days over the 365 or 366 of their year.
        ActualDays = "actual_days",
        /// Days over 365.
        Days365 = "365",
        /// Days over 365.25.
        Days365_25 = "365.25",
        /// A twelfth a billing month.
        Twelfths = "twelfths",
    }
);
choices!(
    /// The bounds of a ladder in a broken billing month.
    BrokenMonthBounds {
        /// Their share by days.
        Prorated = "prorated",
        /// As written.
        Whole = "whole",
    }
);
choices!(
    /// Whose day type the hours after midnight of a wrapping window have.
    WrappingWindow {
        /// That of the day on which the window began.
        StartDay = "start_day",
        /// That of their own date.
        OwnDay = "own_day",
    }
);
choices!(
    /// Which value a billing month takes when a dated one changes inside it.
    DatedValues {
        /// Each its days: the month is cut.
        Split = "split",
        /// The one in force on the first day.
        AtStart = "at_start",
        /// The one in force on the last day.
        AtEnd = "at_end",
    }
);
choices!(
    /// What a look-back does before the first reading.
    MissingHistory {
        /// It takes the months there are, and the bill lists those that are not.
        Ignore = "ignore",
        /// The plan cannot be billed.
        Refuse = "refuse",
    }
);
choices!(
    /// Where a bill is rounded, in place of what the plan says.
    RoundingOverride {
        /// Nowhere.
        None = "none",
        /// Every line, to the currency's digits, half up; the total is their sum.
        Lines = "lines",
        /// The total, to the currency's digits, half up.
        Total = "total",
    }
);
choices!(
    /// What becomes of energy fed in, in place of the plan's own export charges.
    ExportRule {
        /// The plan's own export charges, as they are.
        Credit = "credit",
        /// Credited at the prices of the import, through ladders of its own.
        NetBilling = "net_billing",
        /// Set against the import within the billing month, a surplus carried to the end of the year.
        NetMetering = "net_metering",
        /// Worth nothing.
        None = "none",
    }
);

/// Conventions set from outside, each overriding the plan's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "each field is the convention of its type")]
pub struct ConventionOverrides {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier_scope: Option<TierScope>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier_allocation: Option<TierAllocation>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub daily_amounts: Option<DailyAmounts>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub monthly_amounts: Option<MonthlyAmounts>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub yearly_amounts: Option<YearlyAmounts>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken_month_bounds: Option<BrokenMonthBounds>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wrapping_window: Option<WrappingWindow>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dated_values: Option<DatedValues>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing_history: Option<MissingHistory>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounding: Option<RoundingOverride>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub export: Option<ExportRule>,
}

impl ConventionOverrides {
    /// SAM's conventions, so that anyone can hold our numbers against SAM's.
    pub fn sam() -> Self {
        Self {
            tier_scope: Some(TierScope::AllPeriods),
            tier_allocation: Some(TierAllocation::Prorated),
            daily_amounts: Some(DailyAmounts::AverageMonth),
            monthly_amounts: Some(MonthlyAmounts::Whole),
            yearly_amounts: Some(YearlyAmounts::Twelfths),
            missing_history: Some(MissingHistory::Ignore),
            rounding: Some(RoundingOverride::None),
            ..Self::default()
        }
    }

    /// These, and `base` where these say nothing: flags over a preset, a preset over a plan.
    #[must_use]
    pub fn over(self, base: Self) -> Self {
        Self {
            tier_scope: self.tier_scope.or(base.tier_scope),
            tier_allocation: self.tier_allocation.or(base.tier_allocation),
            daily_amounts: self.daily_amounts.or(base.daily_amounts),
            monthly_amounts: self.monthly_amounts.or(base.monthly_amounts),
            yearly_amounts: self.yearly_amounts.or(base.yearly_amounts),
            broken_month_bounds: self.broken_month_bounds.or(base.broken_month_bounds),
            wrapping_window: self.wrapping_window.or(base.wrapping_window),
            dated_values: self.dated_values.or(base.dated_values),
            missing_history: self.missing_history.or(base.missing_history),
            rounding: self.rounding.or(base.rounding),
            export: self.export.or(base.export),
        }
    }
}
