//! Where timers are kept by number, so that ids of those that have gone are refused.

/// The slot in the lower half, its generation in the upper one. A slot's generation is odd while it is
/// taken, so that no id is 0.
pub(super) type Id = u64;

pub(super) struct Slots<V> {
    slots: Vec<(u32, Option<V>)>,
    free: Vec<u32>,
}

impl<V> Slots<V> {
    pub(super) fn with_capacity(timers: usize) -> Self {
        Self { slots: Vec::with_capacity(timers), free: Vec::new() }
    }

    /// The number that the next value gets.
    pub(super) fn next(&self) -> u32 {
        self.free.last().copied().unwrap_or(self.slots.len() as u32)
    }

    pub(super) fn insert(&mut self, value: V) -> Id {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push((0, None));
            self.slots.len() as u32 - 1
        });
        let (generation, place) = &mut self.slots[slot as usize];
        *generation = generation.wrapping_add(1);
        *place = Some(value);
        u64::from(*generation) << 32 | u64::from(slot)
    }

    pub(super) fn get(&mut self, id: Id) -> Option<&mut V> {
        let (generation, value) = self.slots.get_mut(id as u32 as usize)?;
        if u64::from(*generation) == id >> 32 { value.as_mut() } else { None }
    }

    pub(super) fn remove(&mut self, id: Id) -> Option<V> {
        self.get(id)?;
        self.remove_at(id as u32)
    }

    pub(super) fn at(&mut self, slot: u32) -> Option<&mut V> {
        self.slots.get_mut(slot as usize)?.1.as_mut()
    }

    pub(super) fn remove_at(&mut self, slot: u32) -> Option<V> {
        let (generation, value) = self.slots.get_mut(slot as usize)?;
        let value = value.take()?;
        *generation = generation.wrapping_add(1);
        self.free.push(slot);
        Some(value)
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}
