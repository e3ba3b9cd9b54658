// One job as lanes: a bar for each attempt, and lines for what the job waited for.

import { type Axis, ticks } from "./chart/scale.ts";
import { fresh, h, s } from "./dom.ts";
import type { Job, Lane, Lanes } from "./face.ts";
import { FATES, type Fate, fate, sentence, settled, started, would } from "./fates.ts";
import type { Hue } from "./look.ts";
import { strip } from "./strip.ts";
import { duration, tick } from "./text.ts";

/** A picture of a job that is revealed as time goes by. */
export interface Picture {
  readonly svg: SVGSVGElement;
  /** Reveals what happened by `now`; everything when `over`. */
  reveal(now: number, over: boolean): void;
}

export interface Layout {
  readonly hue: Hue;
  /** How much time the width holds, in seconds. */
  readonly span: number;
  readonly width: number;
  /** Lanes are told by their names, not by their numbers. */
  readonly named?: boolean;
}

const ROW = 22;
const TOP = 34;
const STATUS = 104;

/** How much time a picture of the job holds: the same for every strategy, since all of them meet the same calls. */
export function spanOf({ lanes, luck }: Job): number {
  const times = [lanes.elapsed_s ?? 0, ...lanes.branches.flatMap((lane) => lane.due_s), ...luck];
  const longest = Math.max(...times.filter(Number.isFinite));
  return longest > 0 ? longest * 1.04 : 1;
}

export function picture(job: Job, { hue, span, width, named }: Layout): Picture {
  const { branches } = job.lanes;
  const many = branches.length > 16;
  const status = many || width < 420 ? 0 : STATUS;
  const left = many ? 8 : named ? 84 : 26;
  const inner = Math.max(120, width - left - status - 8);
  const rows = many ? 280 : branches.length * ROW;
  const height = TOP + rows + 34;
  const id = fresh("lanes");
  const x = (seconds: number): number => (Math.min(seconds, span * 1.2) / span) * inner;
  const svg = s("svg", {
    class: `chart lanes h-${hue}`,
    width,
    height,
    viewBox: `0 0 ${width} ${height}`,
    role: "img",
    "aria-labelledby": `${id}-t`,
  });
  svg.append(s("title", { id: `${id}-t` }, sentence(job.lanes)));
  const clip = s("rect", { x: 0, y: 0, width: inner, height });
  svg.append(s("defs", {}, s("clipPath", { id }, clip), ...hatches(id)));
  const field = s("g", { transform: `translate(${left} 0)` }, axis(span, inner, TOP + rows));
  const bars = s("g", { "clip-path": `url(#${id})` });
  const labels: { element: SVGElement; at: number }[] = [];
  if (many) bars.append(strip(job, x, TOP, rows, id));
  else {
    branches.forEach((lane, i) => {
      const y = TOP + i * ROW;
      svg.append(
        s(
          "text",
          { x: left - 8, y: y + 15, "text-anchor": "end", class: lane.required ? "" : "optional" },
          named ? lane.name : String(i + 1),
        ),
      );
      bars.append(...attempts(lane, job.luck[i], y, x, id));
      if (!status) return;
      const text = s("text", { x: inner + 8, y: y + 15, class: "status" }, ends(lane));
      labels.push({ element: text, at: settled(lane) });
      field.append(text);
    });
  }
  const head = s("line", { class: "playhead", x1: 0, x2: 0, y1: TOP - 6, y2: TOP + rows });
  field.append(bars, ...rules(job.lanes, x, inner, TOP + rows), head);
  svg.append(field);
  const reveal = (now: number, over: boolean): void => {
    const share = over ? 1 : Math.min(1, x(now) / inner);
    clip.setAttribute("transform", `scale(${share} 1)`);
    head.setAttribute("transform", `translate(${share * inner} 0)`);
    head.setAttribute("visibility", over ? "hidden" : "visible");
    for (const { element, at } of labels)
      element.setAttribute("visibility", over || at <= now ? "visible" : "hidden");
  };
  reveal(0, true);
  return { svg, reveal };
}

function ends(lane: Lane): string {
  if (lane.outcome !== "answered") return lane.outcome ?? "open";
  const won = lane.attempts.find((attempt) => attempt.end === "won");
  return won ? `${won.role === "primary" ? "" : "copy "}${duration(won.end_s)}` : "answered";
}

function attempts(
  lane: Lane,
  luck: number | undefined,
  y: number,
  x: (seconds: number) => number,
  id: string,
): SVGElement[] {
  const rows = Math.max(1, lane.attempts.length);
  const thick = Math.max(1.5, Math.min(14, (ROW - 4) / rows - (rows > 1 ? 1 : 0)));
  return lane.attempts.flatMap((attempt, row) => {
    const top = y + 2 + (rows === 1 ? (ROW - 4 - thick) / 2 : (row * (ROW - 4)) / rows);
    const middle = top + thick / 2;
    const became = fate(lane, attempt);
    const parts = attempt.spans.flatMap(({ doing, from_s, to_s }): SVGElement[] => {
      const [from, to] = [x(from_s), x(to_s ?? Infinity)];
      if (doing !== "runs")
        return [
          s("line", {
            class: doing === "waits" ? "waited" : "waited queued",
            x1: from,
            x2: to,
            y1: middle,
            y2: middle,
          }),
        ];
      const box = { x: from, y: top, width: Math.max(1, to - from), height: thick, rx: Math.min(3, thick / 2) };
      const bar = s("rect", { ...box, class: `bar ${became}` });
      return became === "won" ? [bar] : [bar, s("rect", { ...box, class: "over", fill: `url(#${id}-${became})` })];
    });
    const later = would(attempt, luck);
    if (later !== null && attempt.end_s !== null && later > attempt.end_s)
      parts.push(s("line", { class: "ghost", x1: x(attempt.end_s), x2: x(later), y1: middle, y2: middle }));
    return parts;
  });
}

function axis(span: number, inner: number, bottom: number): SVGElement {
  const scale: Axis = { kind: "linear", label: "", from: 0, to: span, tick };
  const group = s("g", { class: "axes" });
  for (const value of ticks(scale, Math.max(2, Math.floor(inner / 70)))) {
    const at = (value / span) * inner;
    group.append(s("line", { class: "grid", x1: at, x2: at, y1: TOP - 4, y2: bottom }));
    group.append(
      s("text", { x: at, y: bottom + 16, "text-anchor": value === 0 ? "start" : "middle" }, tick(value)),
    );
  }
  group.append(
    s("text", { x: inner, y: bottom + 32, "text-anchor": "end", class: "label" }, "time since the job’s start"),
  );
  return group;
}

/** Barrier, hedge and deadline, each with its label, on two heights so that neighbours stay readable. */
function rules(lanes: Lanes, x: (seconds: number) => number, inner: number, bottom: number): SVGElement[] {
  const due = lanes.branches[0]?.due_s[0] ?? null;
  const all: [string, number | null, string][] = [
    ["hedge", due, `hedge ${duration(due)}`],
    ["deadline", lanes.deadline_s, `deadline ${duration(lanes.deadline_s)}`],
    [
      "barrier",
      lanes.elapsed_s,
      `${lanes.verdict === "complete" ? "barrier" : lanes.verdict} ${duration(lanes.elapsed_s)}`,
    ],
  ];
  const shown = all.flatMap(([name, at, label]) =>
    at !== null && at > 0 && x(at) <= inner + 1 ? [{ name, place: x(at), label }] : [],
  );
  shown.sort((a, b) => a.place - b.place);
  // Labels come last, so that no line runs through them.
  const lines = shown.map(({ name, place }, i) =>
    s("g", { class: `rule ${name}` }, s("line", { x1: place, x2: place, y1: i % 2 === 0 ? 3 : 16, y2: bottom })),
  );
  const labels = shown.map(({ name, place, label }, i) => {
    const late = place + label.length * 6.6 + 6 > inner;
    const at = { x: place + (late ? -5 : 5), y: i % 2 === 0 ? 11 : 24, "text-anchor": late ? "end" : "start" };
    return s("g", { class: `rule ${name}` }, s("text", at, label));
  });
  return [...lines, ...labels];
}

function hatches(id: string): SVGElement[] {
  const pattern = (name: Fate, size: number, d: string): SVGElement =>
    s(
      "pattern",
      { id: `${id}-${name}`, width: size, height: size, patternUnits: "userSpaceOnUse" },
      s("path", { d, class: `hatch ${name}` }),
    );
  return [
    pattern("copy", 6, "M-1 7L7 -1M-1 1L1 -1M5 7L7 5"),
    pattern("missed", 6, "M0 0L6 6M6 0L0 6"),
    pattern("unneeded", 5, "M1.5 2.5h1.4"),
    pattern("cancelled", 6, "M-1 -1L7 7M5 -1L7 1M-1 5L1 7"),
    pattern("failed", 4, "M0 2H4"),
  ];
}

/** What the bars mean: those that can be seen. */
export function key({ lanes, luck }: Job): HTMLElement {
  const all = lanes.branches.flatMap((lane, i) =>
    lane.attempts.map((attempt) => ({ lane, attempt, luck: luck[i] })),
  );
  const seen = new Set(
    all.filter(({ attempt }) => started(attempt) !== null).map(({ lane, attempt }) => fate(lane, attempt)),
  );
  const list = h("ul", { class: "legend", "aria-hidden": "true" });
  const sample = (...parts: (SVGElement | null)[]): SVGElement =>
    s("svg", { class: "chart lanes", width: 28, height: 12 }, ...parts);
  const id = fresh("key");
  for (const [name, text] of FATES) {
    if (!seen.has(name)) continue;
    const box = { x: 0.5, y: 0.5, width: 27, height: 11, rx: 3 };
    const over = name === "won" ? null : s("rect", { ...box, class: "over", fill: `url(#${id}-${name})` });
    list.append(
      h("li", {}, sample(s("defs", {}, ...hatches(id)), s("rect", { ...box, class: `bar ${name}` }), over), text),
    );
  }
  const line = (cls: string, text: string): HTMLElement =>
    h("li", {}, sample(s("line", { class: cls, x1: 0, x2: 28, y1: 6, y2: 6 })), text);
  if (all.some(({ attempt }) => attempt.spans.some((span) => span.doing !== "runs")))
    list.append(line("waited", "waits"));
  if (all.some(({ attempt, luck }) => would(attempt, luck) !== null))
    list.append(line("ghost", "would have taken"));
  return list;
}
