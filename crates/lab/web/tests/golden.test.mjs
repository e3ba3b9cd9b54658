// Known jobs, step by step, in WebAssembly as in the native build, which is tested against the same file.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Lab, initSync } from "../pkg/fantail_lab.js";

const read = (name) => readFileSync(new URL(name, import.meta.url));

test("known lanes are repeated to the letter", () => {
  initSync({ module: read("../pkg/fantail_lab_bg.wasm") });
  const known = read("../../tests/golden.jsonl").toString().trimEnd().split("\n");
  const text = read("../../tests/golden.toml").toString();
  const runner = new Lab().runner(JSON.stringify({ file: { name: "golden.toml", text }, seed: 11 }));
  const lanes = known.map((_, i) => runner.lanes(Math.floor(i / 12), i % 12));
  assert.equal(known.length, 24);
  assert.deepEqual(lanes, known);
});
