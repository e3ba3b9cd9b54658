// The one place that names the WebAssembly module.

export { Lab, type Exact, type Runner, amount, change, command, duration, ingestion, percent } from "fantail-lab";
import { initSync } from "fantail-lab";
import bytes from "fantail-lab/wasm";

/** Makes the model ready; everything else of this module comes after. */
export function ready(): void {
  initSync({ module: bytes });
}
