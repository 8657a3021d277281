//! Ids for names, interrupt lines and timers, handed out as they are first seen.

use crate::Symbols;
use std::collections::HashMap;
use tardy_model::{Batch, NameId, Tables, TaskId, TimerClass, TimerDef, TimerId};

/// Gives names and timers their ids and puts the definition of each new one into the batch, ahead
/// of the events that use it.
///
/// Bounds: [`Tables::ENTRIES_MAX`] names, functions and interrupt lines; beyond it everything new is id
/// 0. Beyond [`TIMERS_APART_MAX`] timers, new ones are not told apart by their address any more: those of
/// one function and one owner are one, so that an expiry still says whose it is and what it runs. Should
/// these be too many too, those of one function are one, nobody's.
#[derive(Debug)]
pub struct Definitions {
    symbols: Symbols,
    names: HashMap<String, NameId>,
    /// By id; entry 0 is no name.
    names_by_id: Vec<String>,
    functions: HashMap<u64, NameId>,
    lines: HashMap<u32, NameId>,
    timers: HashMap<(u64, u64, TaskId), TimerId>,
    /// Timers that are one, as they are beyond a bound.
    together: u64,
    /// Which timer an address is now: cancel and the end of a callback name only that.
    at_address: HashMap<u64, TimerId>,
    /// What stands for an address in what is written: a number, from 1.
    places: HashMap<u64, u64>,
}

impl Definitions {
    /// Nothing defined yet; functions will be named by `symbols`.
    pub fn new(symbols: Symbols) -> Self {
        Self {
            symbols,
            names: HashMap::new(),
            names_by_id: vec![String::new()],
            functions: HashMap::new(),
            lines: HashMap::new(),
            timers: HashMap::new(),
            together: 0,
            at_address: HashMap::new(),
            places: HashMap::new(),
        }
    }

    /// Nothing defined any more, for a stream of its own.
    pub fn begin_anew(&mut self) {
        *self = Self::new(std::mem::take(&mut self.symbols));
    }

    /// What names the functions.
    pub fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    /// The id of a name.
    pub fn name(&mut self, name: &str, batch: &mut Batch) -> NameId {
        if let Some(id) = self.names.get(name) {
            return *id;
        }
        let id = next_id(self.names.len()).map_or(NameId::NONE, NameId);
        if id != NameId::NONE {
            self.names.insert(name.to_owned(), id);
            self.names_by_id.push(name.to_owned());
            batch.names.push((id, name.to_owned()));
        }
        id
    }

    /// The id of a kernel function's name, by its address.
    pub fn function(&mut self, address: u64, batch: &mut Batch) -> NameId {
        if let Some(id) = self.functions.get(&address) {
            return *id;
        }
        let name = self.symbols.name(address);
        let id = self.name(&name, batch);
        if id != NameId::NONE && next_id(self.functions.len()).is_some() {
            self.functions.insert(address, id);
        }
        id
    }

    /// The id of the name of the function in which `address` lies, wherever in it.
    pub fn caller(&mut self, address: u64, batch: &mut Batch) -> NameId {
        if let Some(id) = self.functions.get(&address) {
            return *id;
        }
        let name = self.symbols.name(address);
        let id = self.name(name.split('+').next().unwrap_or_default(), batch);
        if id != NameId::NONE && next_id(self.functions.len()).is_some() {
            self.functions.insert(address, id);
        }
        id
    }

    /// A function of which only the name is known, as a number that takes the place of its address:
    /// its name's id, which is below every kernel's text.
    pub fn function_called(&mut self, name: &str, batch: &mut Batch) -> u64 {
        let id = self.name(name, batch);
        if id != NameId::NONE {
            self.functions.insert(id.0.into(), id);
        }
        id.0.into()
    }

    /// The name of a kernel function.
    pub fn function_name(&self, address: u64) -> String {
        match self.names_by_id.get(address as usize) {
            Some(name) => name.clone(),
            None => self.symbols.name(address),
        }
    }

    /// The id of an interrupt line's name, which is asked for once. Several handlers may share a
    /// line: the first name stays.
    pub fn line(
        &mut self,
        number: u32,
        name: impl FnOnce() -> String,
        batch: &mut Batch,
    ) -> NameId {
        if let Some(id) = self.lines.get(&number) {
            return *id;
        }
        let id = self.name(&name(), batch);
        if id != NameId::NONE && next_id(self.lines.len()).is_some() {
            self.lines.insert(number, id);
        }
        id
    }

    /// The id of the handler's name that runs for an interrupt line now: several may share it.
    pub fn handler(&mut self, number: u32, name: &str, batch: &mut Batch) -> NameId {
        let id = self.name(name, batch);
        if id != NameId::NONE
            && (self.lines.contains_key(&number) || next_id(self.lines.len()).is_some())
        {
            self.lines.insert(number, id);
        }
        id
    }

    /// The id of an interrupt line's name, where [`Definitions::line`] has given it one, or the last handler's.
    pub fn known_line(&self, number: u32) -> NameId {
        self.lines.get(&number).copied().unwrap_or(NameId::NONE)
    }

    /// The id of the timer at `address` with this function and owner.
    pub fn timer(
        &mut self,
        address: u64,
        function: u64,
        owner: TaskId,
        class: TimerClass,
        batch: &mut Batch,
    ) -> TimerId {
        let id = match self.timers.get(&(address, function, owner)) {
            Some(id) => *id,
            None => self.new_timer(address, function, owner, class, batch),
        };
        if self.at_address.len() >= Tables::ENTRIES_MAX as usize
            && !self.at_address.contains_key(&address)
        {
            // A cancel or an end that names one of them is nobody's.
            self.at_address.clear();
        }
        self.at_address.insert(address, id);
        id
    }

    fn new_timer(
        &mut self,
        address: u64,
        function: u64,
        owner: TaskId,
        class: TimerClass,
        batch: &mut Batch,
    ) -> TimerId {
        let bounds = [(TIMERS_APART_MAX, address, owner), (TIMERS_BY_OWNER_MAX, 0, owner)];
        for (most, address, owner) in bounds {
            if let Some(id) = self.timers.get(&(address, function, owner)) {
                self.together += 1;
                return *id;
            }
            if self.timers.len() < most {
                return self.define_timer(address, function, owner, class, batch);
            }
        }
        self.together += 1;
        if let Some(id) = self.timers.get(&(0, function, TaskId::IDLE)) {
            return *id;
        }
        self.define_timer(0, function, TaskId::IDLE, class, batch)
    }

    fn define_timer(
        &mut self,
        address: u64,
        function: u64,
        owner: TaskId,
        class: TimerClass,
        batch: &mut Batch,
    ) -> TimerId {
        let Some(id) = next_id(self.timers.len()).map(TimerId) else { return TimerId::UNKNOWN };
        let function_name = self.function(function, batch);
        self.timers.insert((address, function, owner), id);
        let address = self.place(address);
        batch.timers.push(TimerDef { id, address, function: function_name, owner, class });
        id
    }

    /// What is written in place of an address: where the kernel keeps things is nobody's to know from a recording.
    fn place(&mut self, address: u64) -> u64 {
        if address == 0 {
            return 0;
        }
        // One for each timer at most, of which there is a bound.
        let next = self.places.len() as u64 + 1;
        *self.places.entry(address).or_insert(next)
    }

    /// A sentence for the reader, where timers could not be told apart.
    pub fn note(&self) -> Option<String> {
        (self.together > 0).then(|| {
            format!(
                "there were more than {TIMERS_APART_MAX} different timers (by address, function \
                 and thread): beyond that number, the timers of one thread with one function count \
                 as one"
            )
        })
    }

    /// The timer that was last seen at `address`.
    pub fn timer_at(&self, address: u64) -> TimerId {
        self.at_address.get(&address).copied().unwrap_or(TimerId::UNKNOWN)
    }
}

/// Timers that are told apart by their address. Each thread that sleeps has one, and another when its
/// stack is used again.
const TIMERS_APART_MAX: usize = Tables::ENTRIES_MAX as usize / 4 * 3;

/// Those, and timers that are told apart by function and owner.
const TIMERS_BY_OWNER_MAX: usize = Tables::ENTRIES_MAX as usize / 8 * 7;

fn next_id(defined: usize) -> Option<u32> {
    let id = u32::try_from(defined).ok()? + 1;
    (id < Tables::ENTRIES_MAX).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_used_again_is_another_timer() {
        let mut definitions = Definitions::new(Symbols::from_text("1000 T hrtimer_wakeup\n"));
        let mut batch = Batch::default();
        let timer = |d: &mut Definitions, owner, batch: &mut Batch| {
            d.timer(0xaa, 0x1000, TaskId(owner), TimerClass::Hrtimer, batch)
        };
        let first = timer(&mut definitions, 7, &mut batch);
        let second = timer(&mut definitions, 8, &mut batch);
        assert_ne!(first, second);
        assert_eq!(definitions.timer_at(0xaa), second);
        assert_eq!(timer(&mut definitions, 7, &mut batch), first);
        assert_eq!(definitions.timer_at(0xaa), first);
        assert_eq!(batch.timers.len(), 2, "each is defined once");
        let places: Vec<u64> = batch.timers.iter().map(|timer| timer.address).collect();
        assert_eq!(places, [1, 1], "the same place, and no address");
        assert_eq!(batch.names, [(NameId(1), "hrtimer_wakeup".to_owned())]);
    }

    #[test]
    fn beyond_the_bound_a_timer_is_its_functions_and_owners() {
        let mut definitions =
            Definitions::new(Symbols::from_text("1000 T hrtimer_wakeup\n2000 T tick\n"));
        let mut tables = Tables::default();
        let mut timer = |address: u64, function, owner| {
            let mut batch = Batch::default();
            let owner = TaskId(owner);
            let id = definitions.timer(address, function, owner, TimerClass::Hrtimer, &mut batch);
            batch.define(&mut tables);
            (id, tables.timer(id), definitions.timer_at(address))
        };
        let first = timer(1, 0x1000, 1);
        for address in 2..=TIMERS_APART_MAX as u64 {
            timer(address, 0x1000, address as u32);
        }
        let all = TIMERS_APART_MAX as u64;
        assert_eq!(timer(1, 0x1000, 1), first, "what is known stays");
        let (id, def, at) = timer(all + 1, 0x1000, 7);
        assert_eq!((def.owner, at), (TaskId(7), id));
        assert_eq!(timer(all + 2, 0x1000, 7).0, id);
        assert_ne!(timer(all + 1, 0x2000, 0).0, id, "a function of its own");
        for owner in 0..(1 << 20) {
            let (id, def, _) = timer(all + 3, 0x1000, owner);
            assert!(id != TimerId::UNKNOWN && (def.owner.0 == owner || def.owner == TaskId::IDLE));
        }
        assert!(definitions.note().is_some());
        assert!(definitions.at_address.len() <= Tables::ENTRIES_MAX as usize);
    }

    #[test]
    fn a_lines_name_is_asked_for_once() {
        let mut definitions = Definitions::new(Symbols::default());
        let mut batch = Batch::default();
        assert_eq!(definitions.known_line(26), NameId::NONE);
        let id = definitions.line(26, || "ttyS0".to_owned(), &mut batch);
        let again = definitions.line(26, || unreachable!("it is known"), &mut batch);
        assert_eq!((again, definitions.known_line(26)), (id, id));
        assert_eq!(batch.names, [(id, "ttyS0".to_owned())]);
    }
}
