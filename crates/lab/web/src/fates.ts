// What became of a job, its branches and their attempts: in words, as a table, and as a file.

import { quoted } from "./chart/twin.ts";
import { h } from "./dom.ts";
import type { Attempt, Job, Lane, Lanes } from "./face.ts";
import { duration } from "./text.ts";

/** How an attempt is drawn: by what became of it. */
export type Fate = "won" | "copy" | "lost" | "missed" | "unneeded" | "cancelled" | "failed";

export const FATES: readonly [Fate, string][] = [
  ["won", "answered"],
  ["copy", "a copy answered"],
  ["lost", "lost to another attempt"],
  ["missed", "cut by a deadline"],
  ["unneeded", "no longer needed"],
  ["cancelled", "cancelled"],
  ["failed", "failed"],
];

export function fate(lane: Lane, attempt: Attempt): Fate {
  switch (attempt.end) {
    case "won":
      return attempt.role === "primary" ? "won" : "copy";
    case "failed":
    case "timed out":
    case "turned away":
      return "failed";
    default:
      break;
  }
  switch (lane.outcome) {
    case "answered":
      return "lost";
    case "missed":
      return "missed";
    case "unneeded":
      return "unneeded";
    default:
      return "cancelled";
  }
}

/** When a lane settled. */
export function settled(lane: Lane): number {
  const won = lane.attempts.find((attempt) => attempt.end === "won");
  return won?.end_s ?? Math.max(0, ...lane.attempts.map((attempt) => attempt.end_s ?? Infinity));
}

/** When an attempt began to run; `null` when it never did. */
export const started = (attempt: Attempt): number | null =>
  attempt.spans.find((span) => span.doing === "runs")?.from_s ?? null;

/** When a primary would have answered if nothing had cut it; `null` where that is not known. */
export function would(attempt: Attempt, luck: number | undefined): number | null {
  const from = started(attempt);
  return attempt.number === 0 && attempt.end === "dropped" && from !== null && luck !== undefined
    ? from + luck
    : null;
}

/** When something happens in a job. */
export const moments = ({ lanes }: Job): number[] =>
  lanes.branches
    .flatMap((lane) => lane.attempts.flatMap((attempt) => [started(attempt), attempt.end_s]))
    .filter((at) => at !== null);

/** What became of the job, in a sentence. */
export function sentence(lanes: Lanes): string {
  const answered = lanes.branches.filter((lane) => lane.outcome === "answered").length;
  const copies = lanes.branches.filter((lane) =>
    lane.attempts.some((attempt) => attempt.role === "copy" && attempt.end === "won"),
  ).length;
  const won = copies ? `, ${copies} by a copy` : "";
  const end = lanes.verdict === null ? "never ends" : `${lanes.verdict} after ${duration(lanes.elapsed_s)}`;
  return `Run ${lanes.job + 1}: ${end}; ${answered} of ${lanes.branches.length} answered${won}`;
}

/** The lanes in words. */
export function table({ lanes }: Job): HTMLTableElement {
  const head = ["Branch", "Outcome", "Attempt", "Started", "Ended", "What became of it"];
  const body = h("tbody");
  for (const lane of lanes.branches) {
    lane.attempts.forEach((attempt, row) => {
      const became = FATES.find(([name]) => name === fate(lane, attempt))?.[1] ?? "";
      const cells = [
        row ? "" : (lane.outcome ?? "open"),
        attempt.role,
        duration(started(attempt)),
        duration(attempt.end_s),
        became,
      ];
      body.append(h("tr", {}, h("th", { scope: "row" }, lane.name), ...cells.map((text) => h("td", {}, text))));
    });
  }
  return h("table", {}, h("thead", {}, h("tr", {}, ...head.map((text) => h("th", { scope: "col" }, text)))), body);
}

/** The lanes in full precision. */
export function csv({ lanes }: Job): string {
  const rows = lanes.branches.flatMap((lane) =>
    lane.attempts.map((attempt) =>
      [
        quoted(lane.name),
        lane.required,
        lane.outcome ?? "",
        attempt.number,
        attempt.role,
        started(attempt) ?? "",
        attempt.end_s ?? "",
        attempt.end ?? "",
      ].join(","),
    ),
  );
  return `${["branch,required,outcome,attempt,role,started_s,ended_s,end", ...rows].join("\n")}\n`;
}
