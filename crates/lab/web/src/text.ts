// Numbers as people read them, in the words of the command line.

import * as face from "./glue.ts";

type Figure = number | null | undefined;

/** What a figure that is not there looks like. */
const NONE = "–";

const shown =
  (format: (value: number) => string) =>
  (value: Figure): string =>
    value === null || value === undefined || Number.isNaN(value) ? NONE : format(value);

/** A time in seconds: `812 ms`, `2.09 s`, `∞`. */
export const duration = shown((value) => face.duration(value));

/** A share: `95.1 %`, with as many decimals as show how far it is from 0 and 100. */
export const percent = shown((value) => face.percent(value));

/** A relative change: `+5.0 %`. */
export const change = shown((value) => face.change(value));

const UNITS: readonly [string, number, number][] = [
  ["ns", 1e-9, 1e3],
  ["µs", 1e-6, 1e3],
  ["ms", 1e-3, 1e3],
  ["s", 1, 600],
  ["min", 60, 600],
  ["h", 3600, Infinity],
];

/** A time on an axis, with no more digits than it has. */
export function tick(seconds: number): string {
  if (seconds === 0) return "0";
  const [unit, scale] = UNITS.find(([, scale, most]) => Math.abs(seconds) / scale < most) ?? ["h", 3600];
  return `${Number((seconds / scale).toPrecision(4))} ${unit}`;
}

/** A share on an axis. */
export const portion = (share: number): string => `${Number((100 * share).toPrecision(4))} %`;

/** What a share still to come leaves as returned, on an axis: `99.9 %`. */
export const returned = (waiting: number): string => `${Number((100 - 100 * waiting).toPrecision(6))} %`;

/** A bare number, with three significant digits or as it is if it is whole. */
export const significant = (value: number): string =>
  Number.isInteger(value) ? whole(value) : String(Number(value.toPrecision(3)));

/** Two numbers with their unit said once, where it is that of both: `5.36–5.63 s`. */
export function range(low: string, high: string): string {
  const [lowest, unit] = low.split(" ");
  return unit && high.endsWith(` ${unit}`) ? `${lowest}–${high}` : `${low}–${high}`;
}

/** `1 branch`, `1,000 branches`. */
export const count = (n: number, one: string, many: string): string => `${whole(n)} ${n === 1 ? one : many}`;

/** `10,000`. */
export const whole = (n: number): string => n.toLocaleString("en-GB", { maximumFractionDigits: 0 });
