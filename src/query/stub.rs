use super::*;
use crate::signal::SignalId;
use time::Date;
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order { NewestFirst, OldestFirst }
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor;
impl Cursor {
    pub(crate) fn new(_f: u128, _o: Order, _d: Date, _l: SignalId) -> Cursor { Cursor }
    pub(crate) fn day(&self) -> Date { Date::MIN }
    pub(crate) fn last_id(&self) -> SignalId { SignalId::MIN }
}
#[derive(Clone, Debug, PartialEq)]
pub enum Start { First, After(Cursor), Page(u16) }
#[derive(Clone, Debug)]
pub struct Query { filter: Filter }
impl Query {
    pub fn filter(&self) -> &Filter { &self.filter }
    pub fn limit(&self) -> usize { 50 }
    pub fn order(&self) -> Order { Order::NewestFirst }
    pub fn start(&self) -> &Start { &Start::First }
}
impl Filter {
    pub(crate) fn value_keys(&self, _f: Facet) -> Vec<&str> { vec![] }
    pub fn without(&self, _f: Facet) -> Filter { self.clone() }
    pub(crate) fn date_intervals(&self, _t: Date) -> Option<smallvec::SmallVec<[std::ops::RangeInclusive<i32>; 2]>> { None }
    pub fn canonical(&self) -> String { String::new() }
    pub fn fingerprint(&self) -> u128 { 0 }
}
