/** Gives memory back at once that a thread which rests would hold until it has much to do again. */
export function letGo({ buffer }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer) buffer.transfer(0);
}
