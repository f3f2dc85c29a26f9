const LARGE_BYTES = 1024 * 1024;

/** Frees the memory at once, because an idle thread runs no garbage collection. */
export function letGo({ buffer }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer) buffer.transfer(0);
}

/** What else a large message has left behind; the collector can be called where `bin/rasket` started the program. */
export function collectAfter(bytes: number): void {
  if (bytes > LARGE_BYTES) globalThis.gc?.();
}
