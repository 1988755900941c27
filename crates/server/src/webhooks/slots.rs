//! How many attempts are under way: in all, for each host, and for endpoints that do not answer.

use std::collections::HashMap;

use crate::state::DueSearch;

/// Attempts under way at one host.
const PER_HOST: usize = 4;

/// The attempts under way, within their bounds.
#[derive(Debug)]
pub(super) struct AttemptSlots {
    max: usize,
    /// The host of each search under way, and whether it answers.
    under_way: HashMap<i64, (String, bool)>,
    by_host: HashMap<String, usize>,
    /// Attempts at endpoints whose last one was not accepted.
    unproven: usize,
}

impl AttemptSlots {
    pub(super) fn new(max: usize) -> AttemptSlots {
        AttemptSlots {
            max: max.max(1),
            under_way: HashMap::new(),
            by_host: HashMap::new(),
            unproven: 0,
        }
    }

    /// Takes a slot for a search, unless it has one. Endpoints that have not answered share half of all slots, so that those
    /// that hang leave the other half to those that answer.
    pub(super) fn take(&mut self, due: &DueSearch) -> bool {
        let of_host = self.by_host.get(&due.host).copied().unwrap_or(0);
        let has_room = due.answers || self.unproven < (self.max / 2).max(1);
        if self.is_full()
            || !has_room
            || of_host >= PER_HOST
            || self.under_way.contains_key(&due.search)
        {
            return false;
        }
        self.under_way
            .insert(due.search, (due.host.clone(), due.answers));
        *self.by_host.entry(due.host.clone()).or_default() += 1;
        self.unproven += usize::from(!due.answers);
        true
    }

    pub(super) fn release(&mut self, search: i64) {
        let Some((host, answers)) = self.under_way.remove(&search) else {
            return;
        };
        self.unproven -= usize::from(!answers);
        if let Some(count) = self.by_host.get_mut(&host) {
            *count -= 1;
            if *count == 0 {
                self.by_host.remove(&host);
            }
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.under_way.len() >= self.max
    }

    pub(super) fn count(&self) -> usize {
        self.under_way.len()
    }
}

#[cfg(test)]
mod tests {
    //! Who gets a slot.

    use super::*;

    fn due(search: i64, host: &str, answers: bool) -> DueSearch {
        DueSearch {
            search,
            host: host.to_owned(),
            answers,
        }
    }

    #[test]
    fn endpoints_that_hang_leave_half_of_the_slots() {
        let mut slots = AttemptSlots::new(8);
        let hanging =
            (0..1_000).filter(|&search| slots.take(&due(search, &format!("h{search}"), false)));
        assert_eq!(hanging.count(), 4);
        let answering =
            (1_000..2_000).filter(|&search| slots.take(&due(search, &format!("h{search}"), true)));
        assert_eq!(answering.count(), 4);
        assert!(slots.is_full() && slots.count() == 8);
        slots.release(0);
        assert!(!slots.take(&due(1, "h1", false)), "it has one");
        assert!(slots.take(&due(5, "h5", false)));
    }

    #[test]
    fn a_host_has_four() {
        let mut slots = AttemptSlots::new(64);
        let taken = (0..10).filter(|&search| slots.take(&due(search, "one", true)));
        assert_eq!(taken.count(), PER_HOST);
        slots.release(0);
        slots.release(0);
        assert!(slots.take(&due(11, "one", true)) && !slots.take(&due(12, "one", true)));
    }
}
