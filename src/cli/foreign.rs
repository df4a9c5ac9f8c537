//! What a foreign plan leaves open, as flags: those of `import plan` and of `bill`.

use crate::tariff::{ForeignOptions, Vat};

/// What a foreign plan leaves open.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Foreign plans")]
pub(super) struct ForeignFlags {
    /// Take a foreign plan although parts of it cannot be billed, and list them on every bill
    #[arg(long)]
    pub(super) allow_unbilled: bool,
    /// The region whose prices count, where a plan holds several (Octopus: A to P)
    #[arg(long)]
    region: Option<String>,
    /// The payment method whose prices count, where a plan holds several, such as direct_debit_monthly
    #[arg(long, value_name = "METHOD")]
    payment_method: Option<String>,
    /// Bill prices with VAT in them (inc), or without and VAT as a charge (exc), where a plan holds both [default: inc]
    #[arg(long, value_name = "inc|exc")]
    vat: Option<Vat>,
    /// The local hours of the night rate of an Octopus tariff with two registers, such as 00:30-07:30
    #[arg(long, value_name = "WINDOWS")]
    night_hours: Option<String>,
    /// The calendar whose dates are the public holidays that a CDR plan names
    #[arg(long, value_name = "CALENDAR")]
    holidays: Option<String>,
}

/// What the unit rates of a foreign tariff leave open: as of its plan.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Foreign prices")]
pub(super) struct RateFlags {
    /// The payment method whose prices count, where a list holds several
    #[arg(long, value_name = "METHOD")]
    payment_method: Option<String>,
    /// Prices with VAT in them (inc), or without (exc), where a list holds both [default: inc]
    #[arg(long, value_name = "inc|exc")]
    vat: Option<Vat>,
}

impl RateFlags {
    /// For reading the prices here.
    pub(super) fn options(&self) -> ForeignOptions {
        ForeignOptions {
            payment_method: self.payment_method.clone(),
            vat: self.vat.unwrap_or_default(),
            ..ForeignOptions::default()
        }
    }
}

impl ForeignFlags {
    /// For reading the plan here.
    pub(super) fn options(&self) -> ForeignOptions {
        ForeignOptions {
            allow_unbilled: self.allow_unbilled,
            region: self.region.clone(),
            payment_method: self.payment_method.clone(),
            vat: self.vat.unwrap_or_default(),
            night_hours: self.night_hours.clone(),
            holidays: self.holidays.clone(),
        }
    }

    /// For sending it: query parameters of the same names.
    pub(super) fn parameters(&self) -> [(&'static str, Option<&str>); 6] {
        let vat = self.vat.and_then(|vat| Vat::CHOICES.into_iter().find(|(_, choice)| *choice == vat));
        [
            ("allow_unbilled", self.allow_unbilled.then_some("true")),
            ("region", self.region.as_deref()),
            ("payment_method", self.payment_method.as_deref()),
            ("vat", vat.map(|(word, _)| word)),
            ("night_hours", self.night_hours.as_deref()),
            ("holidays", self.holidays.as_deref()),
        ]
    }
}
