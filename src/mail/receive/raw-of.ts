import { readSync } from 'node:fs';
import type { ContentSource } from './message-content.ts';

/** The content in memory of this thread's own. */
export function rawOf(source: ContentSource): Uint8Array<ArrayBufferLike> {
  if (source instanceof Uint8Array) return source;
  const raw = new Uint8Array(source.bytes);
  for (let at = 0; at < raw.length;) {
    const read = readSync(source.fd, raw, at, raw.length - at, at);
    if (read === 0) throw new Error(`the file of a message has ${at} bytes of ${raw.length}`);
    at += read;
  }
  return raw;
}
