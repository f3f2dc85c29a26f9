const LARGE_BYTES = 1024 * 1024;

/** Frees the memory at once, because an idle thread runs no garbage collection. */
export function letGo({ buffer }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer) buffer.transfer(0);
}

/** The same for what is always written to a file: what may stand in a row may still be on its way to a database. */
export function letGoLarge(bytes: Uint8Array): void {
  if (bytes.length > LARGE_BYTES) letGo(bytes);
}

/** What else a large message has left behind; the collector can be called where `bin/rasket` started the program. */
export function collectAfter(bytes: number): void {
  if (bytes > LARGE_BYTES) globalThis.gc?.();
}
