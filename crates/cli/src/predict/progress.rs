//! How far a prediction is, for people.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A line that says it, and is gone when this is dropped.
pub(super) struct Progress(ProgressBar);

impl Progress {
    pub(super) fn on(target: ProgressDrawTarget) -> Progress {
        let style = ProgressStyle::with_template("{spinner} {msg}, {elapsed}");
        let bar = ProgressBar::with_draw_target(None, target)
            .with_style(style.expect("a template that indicatif knows"))
            .with_message("solving");
        bar.enable_steady_tick(Duration::from_millis(100));
        Progress(bar)
    }

    /// So many plans of all were solved, at each point of a sweep.
    pub(super) fn solved(&self, count: usize, all: usize) {
        self.0.set_message(format!("solved {count} of {all}"));
    }

    pub(super) fn drawing(&self) {
        self.0.set_message("drawing");
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use indicatif::TermLike;

    use super::*;

    /// A terminal of one line.
    #[derive(Clone, Debug, Default)]
    struct Line(Arc<Mutex<String>>);

    impl Line {
        fn shown(&self) -> String {
            self.0.lock().unwrap().trim().to_owned()
        }
    }

    impl TermLike for Line {
        fn width(&self) -> u16 {
            80
        }
        fn move_cursor_up(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn write_line(&self, text: &str) -> io::Result<()> {
            self.write_str(text)
        }
        fn write_str(&self, text: &str) -> io::Result<()> {
            self.0.lock().unwrap().push_str(text);
            Ok(())
        }
        fn clear_line(&self) -> io::Result<()> {
            self.0.lock().unwrap().clear();
            Ok(())
        }
        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_line_says_what_was_solved_and_is_gone_at_the_end() {
        let line = Line::default();
        let progress = Progress::on(ProgressDrawTarget::term_like(Box::new(line.clone())));
        let check = |words: &str| {
            progress.0.force_draw();
            assert!(line.shown().contains(words), "{words} in {:?}", line.shown());
        };
        check("solving, ");
        progress.solved(3, 20);
        check("solved 3 of 20, ");
        progress.drawing();
        check("drawing, ");
        drop(progress);
        assert_eq!(line.shown(), "");
    }
}
