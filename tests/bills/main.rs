//! Bills we did not compute, and bills worked by hand.

mod calendar;
mod foreign;
mod hand;
mod includes;
mod pairs;
mod properties;
mod robust;
mod support;
