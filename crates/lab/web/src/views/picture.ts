// A picture that the command would draw, as a chart of this page.

import type { Chart, Column } from "../chart/draw.ts";
import type { Axis } from "../chart/scale.ts";
import type { Panel, PictureAxis } from "../face.ts";
import type { Hue } from "../look.ts";
import { duration, percent, portion, returned, significant, tick, whole } from "../text.ts";

const TONES: readonly Hue[] = ["all", "first", "own", "race", "hedge"];

/** The hue of a curve: that of its strategy where it names one, else the next. */
function hue(name: string, tone: number): Hue {
  if (name.includes("hedge:")) return "hedge";
  if (name.includes("race:")) return "race";
  return TONES[tone % TONES.length] ?? "all";
}

/** `call` is what a plan of one branch is called. */
export function chart(panel: Panel, title: string, says: string, call?: string): Chart {
  const main = panel.curves.filter(({ reference }) => !reference);
  const everywhere = main.map(({ points }) => new Set(points.map(([x]) => x)));
  const grid = (main[0]?.points ?? []).map(([x]) => x).filter((x) => everywhere.every((xs) => xs.has(x)));
  const curves = panel.curves.map(({ name, tone, reference, points }): Column => {
    const at = new Map(points);
    const values = grid.map((x) => at.get(x) ?? NaN);
    if (!reference) return { name: call ?? name, hue: hue(name, tone), kind: "line", values };
    return {
      name,
      hue: "plain",
      kind: "line",
      values,
      dash: tone === 0 ? "6 4" : "2 4",
      weight: "thin",
      joined: true,
    };
  });
  const bands = panel.bands.map(({ name, strength, points }): Column => {
    const at = new Map(points.map(([x, low, high]) => [x, [low ?? NaN, high ?? NaN] as const]));
    return {
      name,
      hue: "all",
      kind: "band",
      values: grid.map((x) => at.get(x)?.[0] ?? NaN),
      high: grid.map((x) => at.get(x)?.[1] ?? NaN),
      weight: strength > 0 ? "bold" : "thin",
    };
  });
  const marks = panel.marks.map(({ name, at }) => ({ at, on: "grid" as const, label: name }));
  return {
    title,
    says,
    grid,
    gridAxis: axis(panel.x),
    valueAxis: axis(panel.y),
    columns: [...bands, ...curves],
    marks,
  };
}

function axis({ label, scale, unit, from, to }: PictureAxis): Axis {
  const nines = scale === "nines";
  const [write, format] = {
    time: [tick, duration],
    count: [whole, whole],
    share: nines ? [returned, returned] : [portion, percent],
    number: [(value: number) => (value >= 1_000 ? whole(value) : String(value)), significant],
  }[unit] as [(value: number) => string, (value: number) => string];
  return { kind: scale, label, from, to, tick: write, format, ...(unit === "time" ? { unit: "s" } : label.endsWith("per second") && { unit: "per_s" }) };
}
