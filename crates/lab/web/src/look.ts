// How strategies are told apart: by colour, dash and mark, the same ones everywhere.

export type Hue =
  "all" | "first" | "hedge" | "race" | "own" | "pinned" | "plain" | "complete" | "partial" | "failed";

const DASHES: Readonly<Record<Hue, string>> = {
  all: "",
  first: "9 3",
  hedge: "3 2.5",
  race: "10 3 2 3",
  own: "14 4",
  pinned: "1.5 3.5",
  plain: "",
  complete: "",
  partial: "6 3",
  failed: "2 3",
};

export const dash = (hue: Hue): string => DASHES[hue];
