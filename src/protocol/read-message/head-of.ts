const HEAD_BYTES_MAX = 64 * 1024;
const FIELDS = new Set(['from', 'to', 'cc', 'bcc', 'reply-to', 'subject', 'message-id']);

/** The first field of each kind that says who wrote what to whom, and nothing that says how to read the rest. */
export function headOf(raw: Uint8Array): string {
  const top = Buffer.from(raw.buffer, raw.byteOffset, Math.min(raw.byteLength, HEAD_BYTES_MAX)).toString('utf8');
  const kept: string[] = [];
  const seen = new Set<string>();
  let isKept = false;
  for (const line of top.split(/\r?\n/)) {
    if (line === '') break;
    if (/^[ \t]/.test(line)) {
      if (isKept) kept.push(line);
      continue;
    }
    const name = line.slice(0, Math.max(0, line.indexOf(':'))).toLowerCase();
    isKept = FIELDS.has(name) && !seen.has(name);
    if (!isKept) continue;
    seen.add(name);
    kept.push(line);
  }
  return `${kept.join('\r\n')}\r\n\r\n`;
}
