const [TAB, LF, CR, SPACE, DASH] = [9, 10, 13, 32, 45];
/** Of lines together. */
const RUN_BYTES = 64 * 1024;

/** The end of the line that begins at `from`, behind its LF. */
export function endOfLine(raw: Buffer, from: number): number {
  const lf = raw.indexOf(LF, from);
  return lf < 0 ? raw.length : lf + 1;
}

/** The end of the lines that begin at `from` and among which none delimits a part; of one that does, its own. */
export function endOfLines(raw: Buffer, from: number, boundaries: readonly Uint8Array[]): number {
  const isDelimiter = (at: number): boolean => boundaries.some((boundary) => delimits(raw, at, boundary));
  if (isDelimiter(from)) return endOfLine(raw, from);
  const last = raw.lastIndexOf(LF, from + RUN_BYTES);
  const end = from + RUN_BYTES >= raw.length ? raw.length : last < from ? endOfLine(raw, from) : last + 1;
  if (boundaries.length === 0) return end;
  const run = raw.subarray(from, end);
  for (let lf = run.indexOf('\n--'); lf >= 0; lf = run.indexOf('\n--', lf + 3)) {
    if (isDelimiter(from + lf + 1)) return from + lf + 1;
  }
  return end;
}

/** Two hyphens, the boundary, at the last of them two hyphens, and nothing else but spaces (RFC 2046 §5.1.1). */
function delimits(raw: Buffer, start: number, boundary: Uint8Array): boolean {
  if (raw[start] !== DASH || raw[start + 1] !== DASH) return false;
  let at = start + 2;
  for (const byte of boundary) if (raw[at++] !== byte) return false;
  if (raw[at] === DASH && raw[at + 1] === DASH) at += 2;
  while (raw[at] === SPACE || raw[at] === TAB) at++;
  while (raw[at] === CR) at++;
  return at >= raw.length || raw[at] === LF;
}

/** Lines that end with LF alone, the last of them without it. */
export function plainLines(raw: Buffer, from: number, end: number): Uint8Array<ArrayBuffer> {
  const lines = new Uint8Array(end - from);
  let to = 0;
  for (let at = from; at < end; at++) {
    const byte = raw[at] ?? 0;
    if (byte === LF) while (to > 0 && lines[to - 1] === CR) to--;
    lines[to++] = byte;
  }
  if (lines[to - 1] === LF) to--;
  else while (to > 0 && lines[to - 1] === CR) to--;
  return lines.subarray(0, to);
}
