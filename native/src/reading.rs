//! Reading a byte range of a file: positioned reads into one buffer, passed to a dialect in whole records.

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::dialects::Dialect;
use crate::scan::Scan;

/// Bytes read at once: few enough to be in the processor's cache when they are scanned.
const BUFFER: usize = 256 << 10;
/// Bytes. Servers accept requests of 4 MB by default, which escaping can expand to 24 MB in a log.
const LONGEST_RECORD: usize = 64 << 20;
/// Bytes kept of a longer record: enough for the dialect to count it.
const KEPT_OF_RECORD: usize = 1 << 16;

/// The progress of several reads, and the request to stop them.
#[derive(Default)]
pub struct Progress {
    /// Bytes read.
    pub read: AtomicU64,
    /// The reads should stop.
    pub stopped: AtomicBool,
}

/// The outcome of a read.
pub struct Reached {
    /// The position of the first byte not scanned.
    pub to: u64,
    /// The file ended before the byte range did.
    pub shrunk: bool,
    /// The positions of records too long for the buffer; only their beginnings were scanned.
    pub too_long: Vec<u64>,
}

/// A byte range of a file that is being read.
pub struct Reading<'a> {
    file: &'a File,
    dialect: &'a Dialect,
    buffer: Vec<u8>,
    /// Bytes in the buffer.
    filled: usize,
    /// The position of the buffer in the file.
    at: u64,
    end: u64,
    reached: Reached,
}

impl<'a> Reading<'a> {
    /// A read of the records from `start` to `end`.
    pub fn new(file: &'a File, dialect: &'a Dialect, start: u64, end: u64) -> Self {
        let reached = Reached { to: start, shrunk: false, too_long: Vec::new() };
        Reading { file, dialect, buffer: vec![0; BUFFER], filled: 0, at: start, end, reached }
    }

    /// Scans to the end, or until the scan is heavy, or a stop is requested.
    pub fn scan(mut self, scan: &mut Scan, progress: &Progress) -> io::Result<Reached> {
        while self.at < self.end && !scan.is_heavy() && !progress.stopped.load(Ordering::Relaxed) {
            self.read_on(progress)?;
            let last = self.at + self.filled as u64 >= self.end;
            let whole = if last { self.filled } else { self.dialect.cut(&self.buffer[..self.filled]) };
            if whole > 0 {
                (self.dialect.scan)(&self.buffer[..whole], scan);
                self.pass(whole);
            } else if self.filled < LONGEST_RECORD {
                self.buffer.resize(self.buffer.len().saturating_mul(2).min(LONGEST_RECORD), 0);
            } else {
                self.pass_over(scan, progress)?;
            }
        }
        self.reached.to = self.at;
        Ok(self.reached)
    }

    fn read_on(&mut self, progress: &Progress) -> io::Result<()> {
        let came = self.fill()?;
        progress.read.fetch_add(came as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Fills the buffer, and returns the number of bytes read; where the file has shrunk, the range ends.
    fn fill(&mut self) -> io::Result<usize> {
        let before = self.filled;
        let left = self.end - self.at - before as u64;
        let wanted = before + usize::try_from(left).unwrap_or(usize::MAX).min(self.buffer.len() - before);
        while self.filled < wanted {
            let position = self.at + self.filled as u64;
            match read_at(self.file, &mut self.buffer[self.filled..wanted], position) {
                Ok(0) => {
                    self.reached.shrunk = true;
                    self.end = position;
                    break;
                }
                Ok(came) => self.filled += came,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(self.filled - before)
    }

    /// Removes scanned bytes from the beginning of the buffer.
    fn pass(&mut self, size: usize) {
        self.buffer.copy_within(size..self.filled, 0);
        self.filled -= size;
        self.at += size as u64;
        if self.buffer.len() > BUFFER && self.filled < BUFFER {
            self.buffer.truncate(BUFFER);
            self.buffer.shrink_to_fit();
        }
    }

    /// Scans the beginning of a record that is too long, and skips the rest of it.
    fn pass_over(&mut self, scan: &mut Scan, progress: &Progress) -> io::Result<()> {
        self.reached.too_long.push(self.at);
        let mut kept = self.buffer[..KEPT_OF_RECORD].to_vec();
        kept.push(b'\n');
        (self.dialect.scan)(&kept, scan);
        loop {
            if let Some(end) = self.dialect.first(&self.buffer[..self.filled]) {
                self.pass(end);
                return Ok(());
            }
            let last = self.at + self.filled as u64 >= self.end;
            let unfinished = if last { 0 } else { self.dialect.border.len() - 1 };
            self.pass(self.filled.saturating_sub(unfinished));
            if last || progress.stopped.load(Ordering::Relaxed) {
                return Ok(());
            }
            self.read_on(progress)?;
        }
    }
}

#[cfg(unix)]
fn read_at(file: &File, buffer: &mut [u8], position: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, position)
}

#[cfg(windows)]
fn read_at(file: &File, buffer: &mut [u8], position: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, position)
}
