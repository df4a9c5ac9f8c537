//! Bills we did not compute, and bills worked by hand.

mod pairs;
mod support;
