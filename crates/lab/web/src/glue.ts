// The one place that names the WebAssembly module.

import { initSync } from "../pkg/fantail_lab.js";
import { byId } from "./dom.ts";

export { Lab, type Exact, type Runner, change, command, duration, ingestion, percent } from "../pkg/fantail_lab.js";

/** Makes the model ready; everything else of this module comes after. */
export async function ready(): Promise<void> {
  const element = byId("wasm");
  const text = atob(element.textContent ?? "");
  element.remove();
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  // Compiled while it is unpacked.
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const answer = new Response(stream, { headers: { "Content-Type": "application/wasm" } });
  initSync({ module: await WebAssembly.compileStreaming(answer) });
}
