//! `during` of a rule: ISO 8601 intervals of instants, or the name of an event list. Source: PLAN-MODEL section 2,
//! "Schedule".

use super::super::schedule::Within;
use super::Reader;
use super::walk::Node;
use crate::words::{Instants, MAX_INTERVALS, interval};

/// Most event lists that one document names.
pub(super) const MAX_EVENT_LISTS: usize = 16;

impl<'a> Reader<'a> {
    /// Reads a list of intervals, or the name of one. What cannot be read is left out, its fault noted.
    pub(super) fn during(&mut self, node: &Node<'a>) -> Within {
        if let Some(text) = node.json.as_str() {
            return self.event_list(node, text);
        }
        let items = node.items(&mut self.faults);
        if items.is_empty() {
            self.faults.add("missing_field", &node.pointer, "name at least one interval");
        }
        self.n_instants += items.len();
        if self.n_instants > MAX_INTERVALS {
            let message = format!("a plan has at most {MAX_INTERVALS} intervals in \"during\"");
            self.faults.add("too_many", &node.pointer, message);
            return Within::Written(Instants::default());
        }
        let mut stretches = Vec::with_capacity(items.len());
        for item in &items {
            let Some(text) = item.text(&mut self.faults) else { continue };
            match interval(text) {
                Ok(stretch) => stretches.push(stretch),
                Err(error) => self.faults.add("bad_interval", &item.pointer, error.to_string()),
            }
        }
        Within::Written(Instants::new(stretches))
    }

    fn event_list(&mut self, node: &Node<'a>, text: &str) -> Within {
        if interval(text).is_ok() {
            let message = format!("one interval is a list, too: write [{text:?}]; a text is the name of an event list");
            self.faults.add("bad_name", &node.pointer, message);
        } else if let Some(name) = node.name(&mut self.faults) {
            self.event_lists.insert(name.to_owned());
            if self.event_lists.len() > MAX_EVENT_LISTS {
                let message = format!("a plan names at most {MAX_EVENT_LISTS} event lists");
                self.faults.add("too_many", &node.pointer, message);
            }
        }
        Within::List(text.to_owned())
    }
}
