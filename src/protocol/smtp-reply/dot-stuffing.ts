const dot = Buffer.from('.');
// Looked for after every LF, not only after CRLF: where a peer takes a bare LF for a line end, an unstuffed dot would
// end the message there and let the rest pass as commands.
const lineStartDot = Buffer.from('\n.');

/** RFC 5321 §4.5.2: a dot that starts a line is doubled. The parts share the body's memory, and are it when none is. */
export function dotStuff(body: Buffer): Buffer[] {
  const parts: Buffer[] = [];
  if (body[0] === 46) parts.push(dot);
  let start = 0;
  for (let at = body.indexOf(lineStartDot); at >= 0; at = body.indexOf(lineStartDot, at + 2)) {
    parts.push(body.subarray(start, at + 1), dot);
    start = at + 1;
  }
  parts.push(start === 0 ? body : body.subarray(start));
  return parts;
}
