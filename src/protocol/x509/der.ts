/** DER (X.690), as much of it as certificates and their requests are made of. */

export function tlv(tag: number, content: Buffer): Buffer {
  const length = content.length;
  if (length < 128) return Buffer.concat([Buffer.from([tag, length]), content]);
  if (length < 256) return Buffer.concat([Buffer.from([tag, 0x81, length]), content]);
  if (length > 0xffff) throw new RangeError('more than 65,535 bytes in one element of DER');
  return Buffer.concat([Buffer.from([tag, 0x82, length >> 8, length & 0xff]), content]);
}

export const sequence = (...parts: Buffer[]): Buffer => tlv(0x30, Buffer.concat(parts));

export const set = (...parts: Buffer[]): Buffer => tlv(0x31, Buffer.concat(parts));

export const octets = (content: Buffer): Buffer => tlv(0x04, content);

/** Of whole bytes. */
export const bits = (content: Buffer): Buffer => tlv(0x03, Buffer.concat([Buffer.from([0]), content]));

export const TRUE = tlv(0x01, Buffer.from([0xff]));

export function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  const bytes = [first * 40 + second];
  for (const arc of rest) {
    const septets = [arc & 0x7f];
    for (let left = Math.floor(arc / 128); left > 0; left = Math.floor(left / 128))
      septets.unshift((left & 0x7f) | 0x80);
    bytes.push(...septets);
  }
  return tlv(0x06, Buffer.from(bytes));
}

/** UTCTime until 2049, GeneralizedTime from then on (RFC 5280 §4.1.2.5). */
export function time(at: Date): Buffer {
  const digits = at.toISOString().replace(/[-:T]/g, '').slice(0, 14);
  return digits < '2050' ? tlv(0x17, Buffer.from(`${digits.slice(2)}Z`)) : tlv(0x18, Buffer.from(`${digits}Z`));
}

export function pem(label: string, der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}

export interface Element {
  tag: number;
  content: Buffer;
  /** Where the next element begins. */
  end: number;
}

/** The element that begins at `at`; undefined where there is none that is whole. */
export function elementAt(bytes: Buffer, at: number): Element | undefined {
  const [tag, first] = [bytes[at], bytes[at + 1]];
  if (tag === undefined || first === undefined) return undefined;
  const count = first < 0x80 ? 0 : first & 0x7f;
  if (count > 4 || first === 0x80) return undefined;
  const from = at + 2 + count;
  if (from > bytes.length) return undefined;
  const length = count === 0 ? first : bytes.readUIntBE(at + 2, count);
  const end = from + length;
  return end > bytes.length ? undefined : { tag, content: bytes.subarray(from, end), end };
}

/** What stands one after the other in a sequence or a set. */
export function elementsOf(content: Buffer): Element[] {
  const all: Element[] = [];
  for (let at = 0; at < content.length;) {
    const element = elementAt(content, at);
    if (!element) return all;
    all.push(element);
    at = element.end;
  }
  return all;
}
