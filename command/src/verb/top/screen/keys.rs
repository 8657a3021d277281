//! What keys ask for.

use super::super::Which;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use tardy_report::TimerSort;

/// Lines of a page.
const PAGE: isize = 20;

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    /// At once, whatever is above the table.
    Leave,
    Quit,
    SwitchView,
    NextSort,
    /// Of timers.
    Sort(TimerSort),
    /// Threads, programs, or both: of timers.
    Regroup,
    /// So many lines down, or up.
    Move(isize),
    /// The story of who is chosen.
    Open,
    Help,
    Pause,
    /// Letters go into the filter from now on.
    Type,
    Letter(char),
    Rubout,
    EndTyping,
    /// No filter any more.
    Clear,
    Nothing,
}

/// What a key asks for while the filter is typed, or while it is not.
pub(super) fn wish_of(key: KeyEvent, is_typing: bool, view: Which) -> Wish {
    if key.kind == KeyEventKind::Release {
        return Wish::Nothing;
    }
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char('c') if control => Wish::Leave,
        _ if control => Wish::Nothing,
        KeyCode::Down => Wish::Move(1),
        KeyCode::Up => Wish::Move(-1),
        KeyCode::PageDown => Wish::Move(PAGE),
        KeyCode::PageUp => Wish::Move(-PAGE),
        KeyCode::Esc => Wish::Clear,
        _ if is_typing => typed(key.code),
        KeyCode::Home => Wish::Move(isize::MIN),
        KeyCode::End => Wish::Move(isize::MAX),
        KeyCode::Enter => Wish::Open,
        KeyCode::Tab | KeyCode::BackTab | KeyCode::Char('t') => Wish::SwitchView,
        KeyCode::Char('q') => Wish::Quit,
        KeyCode::Char('s') => Wish::NextSort,
        KeyCode::Char('j') => Wish::Move(1),
        KeyCode::Char('k') => Wish::Move(-1),
        KeyCode::Char('/') => Wish::Type,
        KeyCode::Char(' ') => Wish::Pause,
        KeyCode::Char('?' | 'h') => Wish::Help,
        KeyCode::Char('g') if view == Which::Timers => Wish::Regroup,
        KeyCode::Char(letter) if view == Which::Timers => {
            let known = TimerSort::ALL.into_iter().find(|(_, key, _)| *key == letter);
            known.map_or(Wish::Nothing, |(sort, ..)| Wish::Sort(sort))
        }
        _ => Wish::Nothing,
    }
}

fn typed(code: KeyCode) -> Wish {
    match code {
        KeyCode::Char(letter) if !letter.is_control() => Wish::Letter(letter),
        KeyCode::Backspace => Wish::Rubout,
        KeyCode::Enter => Wish::EndTyping,
        _ => Wish::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn late(code: KeyCode) -> Wish {
        wish_of(KeyEvent::new(code, KeyModifiers::NONE), false, Which::Late)
    }

    #[test]
    fn keys_ask_for_what_the_screen_says() {
        let control = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert_eq!(wish_of(control, true, Which::Late), Wish::Leave);
        for (letter, wish) in [
            ('q', Wish::Quit),
            ('t', Wish::SwitchView),
            ('s', Wish::NextSort),
            (' ', Wish::Pause),
            ('/', Wish::Type),
            ('?', Wish::Help),
            ('c', Wish::Nothing),
        ] {
            assert_eq!(late(KeyCode::Char(letter)), wish, "{letter}");
        }
        assert_eq!(late(KeyCode::Enter), Wish::Open);
        assert_eq!(late(KeyCode::Tab), Wish::SwitchView);
    }

    #[test]
    fn letters_of_timers_sort_timers_and_typed_ones_are_the_filters() {
        let key = |letter| KeyEvent::new(KeyCode::Char(letter), KeyModifiers::NONE);
        assert_eq!(wish_of(key('c'), false, Which::Timers), Wish::Sort(TimerSort::Cost));
        assert_eq!(wish_of(key('g'), false, Which::Timers), Wish::Regroup);
        assert_eq!(wish_of(key('q'), true, Which::Timers), Wish::Letter('q'));
        assert_eq!(wish_of(key(' '), true, Which::Late), Wish::Letter(' '));
    }
}
