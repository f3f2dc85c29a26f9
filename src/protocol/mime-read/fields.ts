/** A header field as it stands in the message. */
export interface RawField {
  name: string;
  lower: string;
  /** Everything behind the colon, folded as it was, without the last line end. */
  value: string;
  /** The whole field, its last line end included. */
  raw: string;
}

const FIELD_NAME = /^[!-9;-~]+$/;

/** The fields of a head that ends before the empty line; a sentence where a line is none. Only CRLF ends a line. */
export function readFields(head: Buffer): RawField[] | { fault: string } {
  const text = head.toString('utf8');
  if (!Buffer.from(text).equals(head)) return { fault: 'a header has bytes that are not UTF-8; encode it (RFC 2047)' };
  const fields: RawField[] = [];
  let at = 0;
  while (at < text.length) {
    const end = endOfField(text, at);
    const raw = text.slice(at, end);
    const colon = raw.indexOf(':');
    const name = raw.slice(0, Math.max(0, colon));
    if (colon <= 0 || !FIELD_NAME.test(name)) {
      const shown = JSON.stringify(raw.slice(0, 60).trimEnd());
      return { fault: `the line ${shown} is no header; an empty line ends the headers` };
    }
    const value = raw.slice(colon + 1).replace(/\r\n$/, '');
    if (CONTROL.test(value.replaceAll('\r\n', ''))) return { fault: `the header ${name} has a control character` };
    fields.push({ name, lower: name.toLowerCase(), value, raw });
    at = end;
  }
  return fields;
}

/** Tab is the one control character that may stand in a value. */
const CONTROL = /[\0-\x08\n-\x1f\x7f]/;

/** A line that begins with white space goes on with the field before it (RFC 5322 §2.2.3). */
function endOfField(text: string, from: number): number {
  for (let at = from; ;) {
    const end = text.indexOf('\r\n', at);
    if (end < 0) return text.length;
    at = end + 2;
    if (text[at] !== ' ' && text[at] !== '\t') return at;
  }
}
