// The one place that names the WebAssembly module.

import { initSync } from "../pkg/fantail_lab.js";
import { byId } from "./dom.ts";

export { Lab, type Exact, type Runner, change, command, duration, ingestion, percent } from "../pkg/fantail_lab.js";

/** Makes the model ready; everything else of this module comes after. */
export async function ready(): Promise<void> {
  const element = byId("wasm");
  const text = element.textContent ?? "";
  element.remove();
  const bytes = Uint8Array.fromBase64?.(text) ?? Uint8Array.from(atob(text), (byte) => byte.charCodeAt(0));
  // Compiled while it is unpacked.
  const stream = new Response(bytes).body?.pipeThrough(new DecompressionStream("gzip"));
  const answer = new Response(stream, { headers: { "Content-Type": "application/wasm" } });
  initSync({ module: await WebAssembly.compileStreaming(answer) });
}
