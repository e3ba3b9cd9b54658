// The one place that names the WebAssembly module.

import { initSync } from "../pkg/fantail_lab.js";
import { byId } from "./dom.ts";

export { Lab, type Exact, type Runner, change, command, duration, ingestion, percent } from "../pkg/fantail_lab.js";

/** Makes the model ready; everything else of this module comes after. */
export function ready(): void {
  const text = atob(byId("wasm").textContent ?? "");
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  initSync({ module: bytes });
}
