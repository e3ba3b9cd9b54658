//! Where a limiter keeps who waits and who has a permit: places that lists run through, so that whoever leaves one from the
//! middle is gone in constant time.

use alloc::vec::Vec;

use super::Ticket;
use crate::Time;
use crate::job::Class;

/// Places, taken and free.
#[derive(Clone, Debug, Default)]
pub(super) struct Places {
    all: Vec<Place>,
    free: Vec<u32>,
}

/// One who waits or has a permit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// Of the ticket.
    pub(super) number: u64,
    pub(super) state: State,
    pub(super) weight: u32,
    /// Its neighbours in the list that it is in.
    pub(super) before: Option<u32>,
    pub(super) after: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum State {
    Free,
    Waits {
        class: Class,
        until: Option<Time>,
    },
    /// Permits of one instant.
    Permits {
        /// How many of them are out.
        left: u32,
        /// The least room that was noted between their grant and that of the next permit that is still out.
        room: u128,
    },
}

/// Places in an order.
#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    first: Option<u32>,
    last: Option<u32>,
}

impl Place {
    pub(super) fn new(number: u64, state: State, weight: u32) -> Place {
        Place { number, state, weight, before: None, after: None }
    }
}

impl List {
    pub(super) const EMPTY: List = List { first: None, last: None };

    pub(super) fn first(&self) -> Option<u32> {
        self.first
    }

    pub(super) fn last(&self) -> Option<u32> {
        self.last
    }
}

impl Places {
    /// Takes a free place.
    pub(super) fn take(&mut self, place: Place) -> u32 {
        if let Some(at) = self.free.pop() {
            *self.at_mut(at) = place;
            at
        } else {
            self.all.push(place);
            (self.all.len() - 1) as u32
        }
    }

    /// Frees a place that is in no list.
    pub(super) fn free(&mut self, at: u32) {
        self.at_mut(at).state = State::Free;
        self.free.push(at);
    }

    /// The place of a ticket, unless its time is over.
    pub(super) fn get(&self, ticket: Ticket) -> Option<&Place> {
        self.all.get(ticket.place as usize).filter(|place| place.number == ticket.number)
    }

    pub(super) fn get_mut(&mut self, ticket: Ticket) -> Option<&mut Place> {
        self.all.get_mut(ticket.place as usize).filter(|place| place.number == ticket.number)
    }

    pub(super) fn at(&self, at: u32) -> &Place {
        &self.all[at as usize]
    }

    pub(super) fn at_mut(&mut self, at: u32) -> &mut Place {
        &mut self.all[at as usize]
    }

    pub(super) fn state_mut(&mut self, at: Option<u32>) -> Option<&mut State> {
        Some(&mut self.at_mut(at?).state)
    }

    /// Does this to the room of a permit and of all after it.
    pub(super) fn each_from(&mut self, at: u32, mut change: impl FnMut(&mut u128)) {
        let mut next = Some(at);
        while let Some(at) = next {
            let place = self.at_mut(at);
            if let State::Permits { room, .. } = &mut place.state {
                change(room);
            }
            next = place.after;
        }
    }

    /// Appends a place that is in no list.
    pub(super) fn push(&mut self, list: &mut List, at: u32) {
        let last = list.last.replace(at);
        match last {
            Some(last) => self.at_mut(last).after = Some(at),
            None => list.first = Some(at),
        }
        let place = self.at_mut(at);
        (place.before, place.after) = (last, None);
    }

    /// Takes a place out of the list that it is in.
    pub(super) fn unlink(&mut self, list: &mut List, at: u32) {
        let Place { before, after, .. } = *self.at(at);
        match before {
            Some(before) => self.at_mut(before).after = after,
            None => list.first = after,
        }
        match after {
            Some(after) => self.at_mut(after).before = before,
            None => list.last = before,
        }
    }
}
