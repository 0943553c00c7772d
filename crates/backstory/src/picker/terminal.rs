//! The terminal in raw mode on its alternate screen, and its way back: on return, on error, on a panic and before a stop.

use std::{
    io::{self, BufWriter, Stdout, Write as _},
    panic,
    sync::atomic::{AtomicBool, Ordering},
};

use ratatui_core::{backend::Backend as _, terminal::Terminal};
use ratatui_crossterm::{
    CrosstermBackend,
    crossterm::{
        cursor::Show,
        event::{DisableBracketedPaste, EnableBracketedPaste},
        execute,
        terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode},
    },
};

/// The screen of the picker. Dropping it restores the terminal.
pub(super) struct Screen {
    pub(super) terminal: Terminal<CrosstermBackend<BufWriter<Stdout>>>,
}

/// True while the terminal is in raw mode: restoring it twice would write escapes into the shell.
static IS_RAW: AtomicBool = AtomicBool::new(false);

impl Screen {
    /// Takes over the terminal.
    pub(super) fn enter() -> io::Result<Self> {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |information| {
            restore();
            before(information);
        }));
        take_over()?;
        // A frame is many small writes.
        let stdout = BufWriter::with_capacity(1 << 16, io::stdout());
        let terminal = Terminal::new(CrosstermBackend::new(stdout)).inspect_err(|_| restore())?;
        Ok(Self { terminal })
    }

    /// Gives the terminal to something else, then takes it back and draws anew.
    pub(super) fn lend<T>(&mut self, user: impl FnOnce() -> T) -> io::Result<T> {
        restore();
        let result = user();
        take_over()?;
        self.terminal.clear()?;
        Ok(result)
    }

    /// Writes an escape sequence past the buffer of cells.
    pub(super) fn write(
        &mut self,
        write: impl FnOnce(&mut dyn io::Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let backend = self.terminal.backend_mut();
        write(backend)?;
        io::Write::flush(backend)
    }

    /// Returns the size of the terminal.
    pub(super) fn size(&self) -> io::Result<(u16, u16)> {
        let size = self.terminal.backend().size()?;
        Ok((size.width, size.height))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

fn take_over() -> io::Result<()> {
    enable_raw_mode()?;
    IS_RAW.store(true, Ordering::SeqCst);
    execute!(io::stdout(), EnterAlternateScreen, EnableBracketedPaste).inspect_err(|_| restore())
}

/// Restores the terminal, once. Errors are ignored: there is nobody left to tell when the terminal is gone.
fn restore() {
    if IS_RAW.swap(false, Ordering::SeqCst) {
        execute!(io::stdout(), DisableBracketedPaste, LeaveAlternateScreen, Show).ok();
        disable_raw_mode().ok();
        io::stdout().flush().ok();
    }
}
