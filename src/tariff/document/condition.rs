//! Conditions of charges: what must be so with the customer.

use super::super::json::Json;
use super::super::model::{Condition, Test};
use super::super::number::Decimal;
use super::Reader;
use super::walk::{Node, Object};
use crate::words::AttributeWord;

impl<'a> Reader<'a> {
    /// Reads `{"attribute": "direct_debit"}` (true), with `is` (true, false or a word), or `at_least` and `at_most` for a
    /// number; both bounds belong to it. Source: DESIGN section 8.
    pub(super) fn condition(&mut self, node: &Node<'a>) -> Option<Condition> {
        let mut object = node.object(&mut self.faults)?;
        let attribute = object.want("attribute", &mut self.faults).and_then(|n| n.name(&mut self.faults));
        let is = object.take("is");
        let (at_least, at_most) = (self.bound(&mut object, "at_least"), self.bound(&mut object, "at_most"));
        let has_bound = object.has("at_least") || object.has("at_most");
        if is.is_some() && has_bound {
            let message = "\"is\" and a bound exclude each other";
            self.faults.add("conflicting_fields", &object.place("is"), message);
        }
        object.finish("a condition", &mut self.faults);
        let test = match is {
            Some(is) => self.wanted(&is)?,
            None if has_bound => {
                let (at_least, at_most) = (at_least?, at_most?);
                if let (Some(least), Some(most)) = (at_least, at_most)
                    && least.is_above(most)
                {
                    let message = format!("no number is at least {least} and at most {most}");
                    self.faults.add("out_of_range", &node.pointer, message);
                }
                Test::Number { at_least, at_most }
            }
            None => Test::Flag(true),
        };
        Some(Condition { attribute: attribute?.to_owned(), test })
    }

    /// A bound of a number; `None` when it is there and cannot be read.
    #[expect(clippy::option_option, reason = "no bound is one thing, a wrong one another")]
    fn bound(&mut self, object: &mut Object<'a>, name: &'static str) -> Option<Option<Decimal>> {
        let Some(node) = object.take(name) else { return Some(None) };
        node.decimal(18, &mut self.faults).map(Some)
    }

    /// `true`, `false` or a word.
    fn wanted(&mut self, node: &Node<'a>) -> Option<Test> {
        if let Json::Bool(flag) = node.json {
            return Some(Test::Flag(*flag));
        }
        let word = node.json.as_str().and_then(|text| AttributeWord::try_from(text.to_owned()).ok());
        if word.is_none() {
            let message = "\"is\" is true, false or a word; for a number write \"at_least\", \"at_most\" or both";
            self.faults.add("wrong_type", &node.pointer, message);
        }
        word.map(|word| Test::Word(word.into()))
    }
}
