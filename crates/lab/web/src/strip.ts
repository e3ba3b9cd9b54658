// Many branches of one job: thin bars, shortest first, so that the tail of the job can be seen as such.

import { s } from "./dom.ts";
import type { Job } from "./face.ts";
import { type Fate, FATES, fate, settled, would } from "./fates.ts";

/** The bars, one path for each fate, from `top` on and `rows` high. */
export function strip(
  { lanes, luck }: Job,
  x: (seconds: number) => number,
  top: number,
  rows: number,
  id: string,
): SVGElement {
  const order = lanes.branches
    .map((lane, i) => ({ lane, at: settled(lane), luck: luck[i] }))
    .sort((a, b) => a.at - b.at || (a.luck ?? 0) - (b.luck ?? 0));
  const step = rows / order.length;
  // Gaps that are thinner than a pixel would only flicker.
  const thick = step < 2 ? step : step * 0.82;
  const paths = new Map<Fate | "ghost", string>();
  const add = (name: Fate | "ghost", from: number, to: number, y: number): void => {
    const box = `M${x(from).toFixed(1)} ${y.toFixed(2)}H${x(to).toFixed(1)}v${thick.toFixed(2)}H${x(from).toFixed(1)}Z`;
    paths.set(name, (paths.get(name) ?? "") + box);
  };
  order.forEach(({ lane, luck }, i) => {
    const y = top + i * step;
    for (const attempt of lane.attempts) {
      for (const { doing, from_s, to_s } of attempt.spans)
        if (doing === "runs") add(fate(lane, attempt), from_s, to_s ?? Infinity, y);
      const later = would(attempt, luck);
      if (later !== null && attempt.end_s !== null && later > attempt.end_s) add("ghost", attempt.end_s, later, y);
    }
  });
  const group = s("g", {});
  for (const name of ["ghost", ...FATES.map(([name]) => name)] as const) {
    const d = paths.get(name);
    if (!d) continue;
    group.append(s("path", { d, class: name === "ghost" ? "haze" : `bar ${name}` }));
    if (name !== "won" && name !== "ghost")
      group.append(s("path", { d, class: "over", fill: `url(#${id}-${name})` }));
  }
  return group;
}
