//! Which format a plan is in, told by its content.

use serde_json::Value;

/// A format in which plans come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanFormat {
    /// Our plan document.
    Own,
    /// The OpenEI Utility Rate Database.
    Urdb,
    /// An Australian energy plan of the Consumer Data Right.
    Cdr,
    /// A product of Octopus Energy (UK), or its lists of rates.
    Octopus,
}

impl PlanFormat {
    /// Every format with its media type, ours first.
    pub const MEDIA_TYPES: [(&'static str, Self); 4] = [
        ("application/json", Self::Own),
        ("application/vnd.urdb+json", Self::Urdb),
        ("application/vnd.cdr-energy+json", Self::Cdr),
        ("application/vnd.octopus+json", Self::Octopus),
    ];

    /// A word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Urdb => "urdb",
            Self::Cdr => "cdr",
            Self::Octopus => "octopus",
        }
    }

    /// How it is sent.
    pub fn media_type(self) -> &'static str {
        Self::MEDIA_TYPES.iter().find(|(_, format)| *format == self).expect("every format has a media type").0
    }

    /// The format of a media type.
    pub fn of_media_type(media_type: &str) -> Option<Self> {
        Self::MEDIA_TYPES.iter().find(|(known, _)| *known == media_type).map(|(_, format)| *format)
    }

    /// Tells by the members that only one format has. What is none of them is read as ours, whose refusal then says
    /// what is wrong.
    pub fn detect(text: &str) -> Self {
        let members = match serde_json::from_str::<Value>(text) {
            Ok(Value::Object(members)) => members,
            Ok(Value::Array(items)) if items.iter().any(|item| item.get("value_inc_vat").is_some()) => {
                return Self::Octopus;
            }
            _ => return Self::Own,
        };
        let has_any = |names: &[&str]| names.iter().any(|name| members.contains_key(*name));
        let data = members.get("data");
        if members.contains_key("charges") {
            Self::Own
        } else if has_any(CDR) || data.is_some_and(|data| CDR.iter().any(|name| data.get(name).is_some())) {
            Self::Cdr
        } else if has_any(OCTOPUS) || members.get("results").is_some_and(Value::is_array) {
            Self::Octopus
        } else if has_any(URDB) || members.get("items").is_some_and(Value::is_array) {
            Self::Urdb
        } else {
            Self::Own
        }
    }
}

const CDR: &[&str] = &["electricityContract", "gasContract", "tariffPeriod", "plans"];
const OCTOPUS: &[&str] = &[
    "single_register_electricity_tariffs",
    "dual_register_electricity_tariffs",
    "standard-unit-rates",
    "day-unit-rates",
    "night-unit-rates",
    "standing-charges",
];
const URDB: &[&str] =
    &["energyratestructure", "utility", "label", "demandratestructure", "flatdemandstructure", "fixedchargefirstmeter"];

#[cfg(test)]
mod tests {
    use super::PlanFormat;

    #[test]
    fn a_format_is_told_by_the_members_that_only_it_has() {
        for (text, format) in [
            (r#"{"name": "Flat", "charges": []}"#, PlanFormat::Own),
            (r#"{"utility": "U", "energyratestructure": []}"#, PlanFormat::Urdb),
            (r#"{"items": [{}]}"#, PlanFormat::Urdb),
            (r#"{"data": {"planId": "X", "electricityContract": {}}}"#, PlanFormat::Cdr),
            (r#"{"planId": "X", "electricityContract": {}}"#, PlanFormat::Cdr),
            (r#"{"tariffPeriod": []}"#, PlanFormat::Cdr),
            (r#"{"code": "X", "single_register_electricity_tariffs": {}}"#, PlanFormat::Octopus),
            (r#"{"standard-unit-rates": [], "standing-charges": []}"#, PlanFormat::Octopus),
            (r#"{"count": 0, "next": null, "previous": null, "results": []}"#, PlanFormat::Octopus),
            (r#"[{"value_exc_vat": 1, "value_inc_vat": 2}]"#, PlanFormat::Octopus),
            ("{}", PlanFormat::Own),
            ("[1]", PlanFormat::Own),
            ("no JSON", PlanFormat::Own),
        ] {
            assert_eq!(PlanFormat::detect(text), format, "{text}");
        }
    }

    #[test]
    fn every_format_has_a_media_type_of_its_own() {
        for (media_type, format) in PlanFormat::MEDIA_TYPES {
            assert_eq!(format.media_type(), media_type);
            assert_eq!(PlanFormat::of_media_type(media_type), Some(format));
        }
        assert_eq!(PlanFormat::of_media_type("text/csv"), None);
    }
}
