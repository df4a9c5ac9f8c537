//! Conditions of charges, in words where a bill lists what does not hold.

use std::fmt;

use super::number::Decimal;

/// What must be so with an attribute of the customer for a charge to be on the bill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Condition {
    pub(crate) attribute: String,
    pub(crate) test: Test,
}

/// What the attribute must be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Test {
    Flag(bool),
    Word(String),
    /// Both bounds belong to it; at least one is there.
    Number {
        at_least: Option<Decimal>,
        at_most: Option<Decimal>,
    },
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is ", self.attribute)?;
        match &self.test {
            Test::Flag(flag) => write!(f, "{flag}"),
            Test::Word(word) => f.write_str(word),
            Test::Number { at_least, at_most } => {
                if let Some(bound) = at_least {
                    write!(f, "at least {bound}")?;
                }
                if at_least.is_some() && at_most.is_some() {
                    f.write_str(" and ")?;
                }
                at_most.map_or(Ok(()), |bound| write!(f, "at most {bound}"))
            }
        }
    }
}
