//! Ids for names, interrupt lines and timers, handed out as they are first seen.

use crate::Symbols;
use std::collections::HashMap;
use tardy_model::{Batch, NameId, Tables, TaskId, TimerClass, TimerDef, TimerId};

/// Gives names and timers their ids and puts the definition of each new one into the batch, ahead
/// of the events that use it.
///
/// Bounds: [`Tables::ENTRIES_MAX`] names, timers, functions and interrupt lines; beyond it
/// everything new is id 0.
#[derive(Debug)]
pub struct Definitions {
    symbols: Symbols,
    names: HashMap<String, NameId>,
    /// By id; entry 0 is no name.
    names_by_id: Vec<String>,
    functions: HashMap<u64, NameId>,
    lines: HashMap<u32, NameId>,
    timers: HashMap<(u64, u64, TaskId), TimerId>,
    /// Which timer an address is now: cancel and the end of a callback name only that.
    at_address: HashMap<u64, TimerId>,
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
            at_address: HashMap::new(),
        }
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

    /// The id of an interrupt line's name, where [`Definitions::line`] has given it one.
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
        let id = if let Some(id) = self.timers.get(&(address, function, owner)) {
            *id
        } else {
            let id = next_id(self.timers.len()).map_or(TimerId::UNKNOWN, TimerId);
            if id != TimerId::UNKNOWN {
                let function_name = self.function(function, batch);
                self.timers.insert((address, function, owner), id);
                batch.timers.push(TimerDef { id, address, function: function_name, owner, class });
            }
            id
        };
        if id == TimerId::UNKNOWN {
            self.at_address.remove(&address);
        } else {
            self.at_address.insert(address, id);
        }
        id
    }

    /// The timer that was last seen at `address`.
    pub fn timer_at(&self, address: u64) -> TimerId {
        self.at_address.get(&address).copied().unwrap_or(TimerId::UNKNOWN)
    }
}

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
        assert_eq!(batch.names, [(NameId(1), "hrtimer_wakeup".to_owned())]);
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
