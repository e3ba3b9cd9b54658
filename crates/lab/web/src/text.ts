// Numbers as people read them, the same way as on the command line.

const UNITS: readonly [string, number, number][] = [
  ["ns", 1e-9, 1e3],
  ["µs", 1e-6, 1e3],
  ["ms", 1e-3, 1e3],
  ["s", 1, 600],
  ["min", 60, 600],
  ["h", 3600, Infinity],
];

const rounded = (value: number): number => Number(value.toPrecision(3));

/** Three significant digits. */
export function significant(value: number): string {
  const round = rounded(value);
  const magnitude = Math.abs(round);
  if (magnitude === 0) return "0";
  if (magnitude < 1e-3 || magnitude >= 1e6) return round.toExponential(2).replace("+", "");
  const before = Math.floor(Math.log10(magnitude)) + 1;
  return round.toFixed(Math.max(0, 3 - before));
}

/** A time in seconds: `812 ms`, `2.09 s`, `∞`. */
export function duration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined || Number.isNaN(seconds)) return "–";
  if (!Number.isFinite(seconds)) return "∞";
  if (seconds === 0) return "0 s";
  const shown = rounded(Math.abs(seconds));
  const [unit, scale] = UNITS.find(([, scale, most]) => rounded(shown / scale) < most) ?? ["h", 3600];
  return `${significant(seconds / scale)}\u202f${unit}`;
}

/** A time on an axis: no more digits than it has. */
export function tick(seconds: number): string {
  if (seconds === 0) return "0";
  const [unit, scale] = UNITS.find(([, scale, most]) => rounded(seconds / scale) < most) ?? ["h", 3600];
  return `${Number((seconds / scale).toPrecision(4))}\u202f${unit}`;
}

/** A share as a percentage, with as many decimals as show how far it is from 0 and 100. */
export function percent(share: number | null | undefined): string {
  if (share === null || share === undefined || Number.isNaN(share)) return "–";
  const value = 100 * share;
  const toEnd = Math.min(Math.abs(value), Math.abs(100 - value));
  if (toEnd === 0) return `${value.toFixed(0)}\u202f%`;
  if (toEnd < 1e-3) return Math.abs(value) < 1 ? `${value.toExponential(1)}\u202f%` : ">\u202f99.999\u202f%";
  const decimals = Math.max(1, 1 - Math.floor(Math.log10(toEnd)));
  return `${value.toFixed(decimals)}\u202f%`;
}

/** A relative change: `+5.0 %`. */
export function change(share: number | null | undefined): string {
  if (share === null || share === undefined || Number.isNaN(share)) return "–";
  if (!Number.isFinite(share)) return "∞";
  const value = Math.abs(share) < 1e-12 ? 0 : 100 * share;
  const magnitude = Math.abs(value);
  const sign = value > 0 ? "+" : "";
  if (magnitude === 0) return "0\u202f%";
  if (magnitude >= 1) return `${sign}${value.toFixed(1)}\u202f%`;
  return `${sign}${Number(value.toPrecision(2))}\u202f%`;
}

/** Two numbers with their unit said once, where it is that of both: `5.36–5.63 s`. */
export function range(low: string, high: string): string {
  const [lowest, unit] = low.split("\u202f");
  return high.endsWith(`\u202f${unit}`) && unit ? `${lowest}–${high}` : `${low}–${high}`;
}

/** `1 branch`, `1,000 branches`. */
export function count(n: number, one: string, many: string): string {
  return `${whole(n)} ${n === 1 ? one : many}`;
}

/** `10,000`. */
export const whole = (n: number): string => n.toLocaleString("en-GB", { maximumFractionDigits: 0 });
