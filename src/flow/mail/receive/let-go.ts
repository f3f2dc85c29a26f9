/** Frees the memory at once, because an idle thread runs no garbage collection. */
export function letGo({ buffer }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer) buffer.transfer(0);
}
