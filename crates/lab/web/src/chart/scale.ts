// Axes: where a value lies on the screen, and which values are written beside it.

export type Kind = "linear" | "log" | "share" | "nines";

export interface Axis {
  /** `share` and `nines`: values are shares still to come, 1 to 0; with `nines` each step is one nine more of those that are there. */
  readonly kind: Kind;
  readonly label: string;
  readonly from: number;
  readonly to: number;
  /** What the values of a file count, as its headings end: seconds, or a share for each. */
  readonly unit?: "s" | "per_s";
  /** How a value is written beside the axis. */
  readonly tick: (value: number) => string;
  /** How a value is written in a table; as beside the axis unless stated. */
  readonly format?: (value: number) => string;
}

/** A value's place from 0 to 1 along the axis; `NaN` for what has none. */
export function place(axis: Axis, value: number): number {
  const [low, high, at] = [along(axis, axis.from), along(axis, axis.to), along(axis, value)];
  return high === low ? 0 : (at - low) / (high - low);
}

function along(axis: Axis, value: number): number {
  switch (axis.kind) {
    case "linear":
      return value;
    case "log":
      return Math.log10(value);
    case "share":
      return -value;
    case "nines":
      return -Math.log10(value);
  }
}

/** Values to write beside the axis, about `most` of them. */
export function ticks(axis: Axis, most: number): number[] {
  switch (axis.kind) {
    case "linear":
      return linear(axis.from, axis.to, most);
    case "log":
      return logarithmic(axis.from, axis.to, most);
    case "share":
      return linear(axis.to, axis.from, most);
    case "nines":
      return nines(axis.to);
  }
}

function linear(from: number, to: number, most: number): number[] {
  const rough = (to - from) / Math.max(1, most);
  if (!(rough > 0) || !Number.isFinite(rough)) return [];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10);
  const first = Math.ceil(from / step - 1e-9);
  const last = Math.floor(to / step + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

function logarithmic(from: number, to: number, most: number): number[] {
  const [low, high] = [Math.floor(Math.log10(from)), Math.ceil(Math.log10(to))];
  const inside = (factors: readonly number[]): number[] => {
    const found: number[] = [];
    for (let power = low; power <= high; power++) {
      for (const factor of factors) {
        const value = Number((factor * 10 ** power).toPrecision(12));
        if (value >= from * (1 - 1e-9) && value <= to * (1 + 1e-9)) found.push(value);
      }
    }
    return found;
  };
  const finest = [[1, 2, 5], [1, 3], [1]].map(inside).find((values) => values.length <= most && values.length > 1);
  return finest ?? inside([1, 2, 5]).filter((_, i, all) => i % Math.ceil(all.length / most) === 0);
}

function nines(least: number): number[] {
  const found = [1, 0.5];
  for (let power = 1; 10 ** -power >= least * (1 - 1e-9); power++)
    found.push(Number((10 ** -power).toPrecision(3)));
  return found;
}

/** A round number at or above `value`. */
export function roundUp(value: number): number {
  if (!(value > 0) || !Number.isFinite(value)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  const factor = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].find((factor) => factor * power >= value * (1 - 1e-9));
  return (factor ?? 10) * power;
}

/** `count` values from one to the other, both included, spaced by a factor and rounded to whole ones, each once. */
export function wholeSteps(from: number, to: number, count: number): number[] {
  const ratio = (to / from) ** (1 / (count - 1));
  return [...new Set(Array.from({ length: count }, (_, i) => Math.round(from * ratio ** i)))];
}

/** `count` values from one to the other, both included, evenly spaced. */
export function evenSteps(from: number, to: number, count: number): number[] {
  return Array.from({ length: count }, (_, i) => from + ((to - from) * i) / (count - 1));
}
