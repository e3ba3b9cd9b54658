//! Lanes as an SVG document of its own: no script, no font, no image from elsewhere.

use std::fmt::Write;

use super::lanes::{Doing, Job};
use crate::number;

/// The picture, in pixels.
const WIDTH: f64 = 880.0;
const LEFT: f64 = 130.0;
const RIGHT: f64 = 150.0;
const LANE: f64 = 24.0;
const TITLE: f64 = 44.0;
const AXIS: f64 = 34.0;

const STYLE: &str = "\
text{font:13px system-ui,sans-serif;fill:#222}.t{font-weight:600}.m{fill:#666;font-size:12px}\
.run{fill:#0072b2}.wait{fill:#c24e00;fill-opacity:.35}.queue{fill:#6e5a00;fill-opacity:.5}.axis{stroke:#999}\
@media(prefers-color-scheme:dark){text{fill:#ddd}.m{fill:#aaa}.run{fill:#56b4e9}.wait{fill:#ff8c42}.queue{fill:#e6c229}}";

/// All jobs below each other, each at a scale of its own.
pub(super) fn render(jobs: &[Job]) -> String {
    let rows = |job: &Job| job.lanes.len() + usize::from(!job.more.is_empty());
    let heights = jobs.iter().map(|job| TITLE + LANE * rows(job) as f64 + AXIS);
    let height = heights.sum::<f64>() + 40.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\">\n\
         <title>Jobs, attempt by attempt</title>\n<style>{STYLE}</style>\n"
    );
    let mut top = 0.0;
    for job in jobs {
        top = lanes(&mut svg, job, top);
    }
    legend(&mut svg, top + 18.0);
    svg.push_str("</svg>\n");
    svg
}

fn lanes(svg: &mut String, job: &Job, top: f64) -> f64 {
    text(svg, 16.0, top + 28.0, "t", "start", &job.title);
    let total = job.elapsed.as_secs_f64();
    let across = |seconds: f64| LEFT + (WIDTH - LEFT - RIGHT) * (seconds / total).clamp(0.0, 1.0);
    let mut y = top + TITLE;
    for lane in &job.lanes {
        text(svg, LEFT - 10.0, y + 16.0, "", "end", &lane.label);
        for span in &lane.spans {
            let class = match span.doing {
                Doing::Waits => "wait",
                Doing::Queues => "queue",
                Doing::Runs => "run",
            };
            let (from, to) = (across(span.from.as_secs_f64()), across(span.to.as_secs_f64()));
            let (y, width, height) = (y + 4.0, (to - from).max(1.0), LANE - 8.0);
            line(
                svg,
                format_args!(
                    "<rect class=\"{class}\" x=\"{from:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>"
                ),
            );
        }
        text(svg, WIDTH - RIGHT + 10.0, y + 16.0, "m", "start", &lane.end);
        y += LANE;
    }
    if !job.more.is_empty() {
        text(svg, LEFT, y + 16.0, "m", "start", &job.more);
        y += LANE;
    }
    let (from, to) = (across(0.0), across(total));
    line(
        svg,
        format_args!("<line class=\"axis\" x1=\"{from:.1}\" y1=\"{y:.1}\" x2=\"{to:.1}\" y2=\"{y:.1}\"/>"),
    );
    text(svg, from, y + 16.0, "m", "start", "0 s");
    text(svg, to, y + 16.0, "m", "end", &number::duration(total));
    y + AXIS
}

fn legend(svg: &mut String, y: f64) {
    let mut x = LEFT;
    for (class, what) in
        [("run", "runs"), ("queue", "queues at a server"), ("wait", "waits for a permit, or to try again")]
    {
        line(
            svg,
            format_args!(
                "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{:.1}\" width=\"22\" height=\"12\"/>",
                y - 10.0
            ),
        );
        text(svg, x + 28.0, y, "m", "start", what);
        x += 60.0 + 7.0 * what.len() as f64;
    }
}

fn text(svg: &mut String, x: f64, y: f64, class: &str, anchor: &str, text: &str) {
    let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    line(
        svg,
        format_args!(
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{escaped}</text>"
        ),
    );
}

fn line(svg: &mut String, line: std::fmt::Arguments<'_>) {
    writeln!(svg, "{line}").expect("a string takes every write");
}
