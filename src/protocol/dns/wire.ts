/** The bytes are not a DNS message, or a value does not fit into one. */
export class DnsFormatError extends Error {
  override readonly name = 'DnsFormatError';
}

const NAME_BYTES_MAX = 255;
const LABEL_BYTES_MAX = 63;

/**
 * Splits a name into its labels. The final dot is optional, odd bytes are written `\.` and `\DDD` (RFC 1035 §5.1), and
 * `.` is the root. One character of a label is one byte.
 */
export function nameLabels(name: string): string[] {
  if (name === '.' || name === '') return [];
  const labels: string[] = [];
  let label = '';
  for (let at = 0; at < name.length; at++) {
    const char = name.charAt(at);
    if (char === '.') {
      labels.push(label);
      label = '';
    } else if (char === '\\') {
      const digits = /^\d{3}/.exec(name.slice(at + 1, at + 4))?.[0];
      label += digits === undefined ? name.charAt(at + 1) : String.fromCharCode(parseByte(digits, name));
      at += digits === undefined ? 1 : 3;
    } else {
      label += char;
    }
  }
  if (!endsWithDot(name)) labels.push(label);
  mustFitLabels(labels, name);
  return labels;
}

/** Formats labels as a name; nameLabels returns the same labels again. */
export function nameFromBytes(labels: readonly string[]): string {
  return labels.length === 0 ? '.' : labels.map(escapedLabel).join('.');
}

const escapedLabel = (label: string): string => label.replace(ODD_CHARS, escapeChar);

/** Returns the spelling by which names are compared (RFC 4343: only ASCII letters have two cases). */
export const canonicalName = (name: string): string =>
  nameFromBytes(nameLabels(name)).replace(/[A-Z]/g, (letter) => letter.toLowerCase());

/**
 * Reports whether a name is the zone's own or below it. It compares labels, so that `notexample.com` is not in
 * `example.com`.
 */
export function isWithin(name: string, zone: string): boolean {
  return isWithinCanonical(canonicalName(name), canonicalName(zone));
}

/** Same as isWithin for two canonical names, at next to no cost. */
export function isWithinCanonical(name: string, zone: string): boolean {
  if (zone === '.' || name === zone) return true;
  if (!name.endsWith(`.${zone}`)) return false;
  // A dot after an odd number of backslashes is part of a label.
  const backslashes = /\\*$/.exec(name.slice(0, -zone.length - 1).slice(-NAME_BYTES_MAX))?.[0] ?? '';
  return backslashes.length % 2 === 0;
}

/**
 * Returns the canonical form of a name read from a message, which nameFromBytes has already spelled uniformly.
 * Canonicalizing such names in full would make comparing the names of a large message slower than reading it.
 */
export const canonicalOfRead = (name: string): string => name.toLowerCase();

// All bytes that need escaping in a zone file: unprintable ones, blanks, quotes, comments, parentheses, @ and $.
const ODD_CHARS = /[^\x21-\x7e]|[."\\;()@$]/g;

function escapeChar(char: string): string {
  if (/[\x21-\x7e]/.test(char)) return `\\${char}`;
  return `\\${String(char.charCodeAt(0)).padStart(3, '0')}`;
}

function endsWithDot(name: string): boolean {
  const backslashes = /(\\*)\.$/.exec(name)?.[1];
  return backslashes !== undefined && backslashes.length % 2 === 0;
}

function parseByte(digits: string, name: string): number {
  const byte = Number(digits);
  if (byte <= 255) return byte;
  throw new DnsFormatError(`The name ${shown(name)} has \\${digits}; an escaped byte is at most \\255.`);
}

function mustFitLabels(labels: readonly string[], name: string): void {
  let bytes = 1;
  for (const label of labels) {
    if (label === '') throw new DnsFormatError(`The name ${shown(name)} has an empty label.`);
    if (label.length > LABEL_BYTES_MAX) {
      throw new DnsFormatError(`A label of ${shown(name)} has ${label.length} bytes; at most 63 are allowed.`);
    }

    if (/[^\0-\xff]/.test(label)) {
      throw new DnsFormatError(`The name ${shown(name)} is not made of bytes; write it as A-labels.`);
    }
    bytes += 1 + label.length;
  }
  if (bytes > NAME_BYTES_MAX) {
    throw new DnsFormatError(`The name ${shown(name)} has ${bytes} bytes; at most ${NAME_BYTES_MAX} are allowed.`);
  }
}

const shown = (name: string): string => JSON.stringify(name.length > 80 ? `${name.slice(0, 80)}…` : name);

/** A name has at most 127 labels; more pointers than that are an attack on the reader's time. */
const POINTERS_MAX = 127;
/**
 * Upper bound for the work of reading one message: labels, pointers, strings and records. Five hundred records with
 * distinct names stay below it; a message that takes more is made to keep its reader busy.
 */
const STEPS_MAX = 8192;

/** The name that starts at an offset, including the labels that follow. */
interface NameHere {
  text: string;
  /** The text is a flat string; joining a string that was itself joined from many parts is slow. */
  isFlat: boolean;
  /** Length in bytes, excluding the byte of the root. */
  bytes: number;
  pointers: number;
}

const ROOT: NameHere = { text: '.', isFlat: true, bytes: 0, pointers: 0 };

/** State shared by all readers of one message: each label is decoded once, however many names lead to it. */
interface Shared {
  steps: number;
  names: Map<number, NameHere>;
}

/** Reads a message from start to end and never past its end. */
export class WireReader {
  at: number;
  readonly bytes: Buffer;
  readonly #shared: Shared;

  constructor(bytes: Buffer, at = 0, shared: Shared = { steps: 0, names: new Map() }) {
    this.bytes = bytes;
    this.at = at;
    this.#shared = shared;
  }

  /** Amount of work the message has caused so far. */
  get steps(): number {
    return this.#shared.steps;
  }

  /** A loop whose length the message decides calls this in each iteration. */
  step(): void {
    if (++this.#shared.steps > STEPS_MAX) {
      throw new DnsFormatError(`The message has more than ${STEPS_MAX} labels, pointers, strings and records to read.`);
    }
  }

  /** Returns a reader of the bytes from `from` to `end`; both readers share one count of steps. */
  within(from: number, end: number): WireReader {
    return new WireReader(this.bytes.subarray(0, end), from, this.#shared);
  }

  uint8(): number {
    return this.take(1).readUInt8();
  }

  uint16(): number {
    return this.take(2).readUInt16BE();
  }

  uint32(): number {
    return this.take(4).readUInt32BE();
  }

  uint48(): number {
    return this.take(6).readUIntBE(0, 6);
  }

  take(length: number): Buffer {
    if (this.at + length > this.bytes.length) {
      throw new DnsFormatError(`The message ends at byte ${this.bytes.length}, in the middle of a field.`);
    }
    const taken = this.bytes.subarray(this.at, this.at + length);
    this.at += length;
    return taken;
  }

  /**
   * RFC 1035 §4.1.4: each pointer must point to an earlier offset than the one before it, so that no chain can loop.
   */
  name(): string {
    const { names } = this.#shared;
    const passed: { at: number; label: string | undefined; length: number }[] = [];
    let at = this.at;
    let end: number | undefined;
    let earliest = this.at;
    let here: NameHere | undefined;
    for (let bytes = 1, pointers = 0; ;) {
      this.step();
      const length = this.byteAt(at);
      if (length === 0) {
        end ??= at + 1;
        here = ROOT;
        break;
      }
      // Once a pointer was followed, the end of this name is known.
      here = end === undefined ? undefined : names.get(at);
      if (here) {
        flatten(here);
        break;
      }
      if (length < 0x40) {
        bytes += 1 + length;
        mustFit(bytes);
        passed.push({ at, label: this.label(at + 1, length), length });
        at += 1 + length;
        continue;
      }
      if (length < 0xc0)
        throw new DnsFormatError(`A label starts with 0x${length.toString(16)}, which no RFC has given a meaning.`);
      const target = ((length & 0x3f) << 8) | this.byteAt(at + 1);
      end ??= at + 2;
      if (target >= earliest) throw new DnsFormatError('A compressed name does not point backwards.');
      mustBeFew(++pointers);
      passed.push({ at, label: undefined, length: 0 });
      earliest = target;
      at = target;
    }
    for (const { at: place, label, length } of passed.reverse()) {
      here = joined(label, length, here);
      names.set(place, here);
    }
    this.at = end ?? at;
    return here.text;
  }

  private label(from: number, length: number): string {
    if (from + length > this.bytes.length) throw new DnsFormatError('A label goes beyond the end of the message.');
    return escapedLabel(this.bytes.toString('latin1', from, from + length));
  }

  private byteAt(at: number): number {
    const byte = this.bytes[at];
    if (byte === undefined) throw new DnsFormatError('A name goes beyond the end of the message.');
    return byte;
  }
}

/** Joins a label (or a pointer, if there is no label) with the name that follows. */
function joined(label: string | undefined, length: number, rest: NameHere): NameHere {
  if (label === undefined) {
    mustBeFew(rest.pointers + 1);
    return { ...rest, pointers: rest.pointers + 1 };
  }
  const bytes = rest.bytes + 1 + length;
  mustFit(bytes + 1);
  const text = rest.bytes === 0 ? label : `${label}.${rest.text}`;
  return { text, isFlat: false, bytes, pointers: rest.pointers };
}

function flatten(name: NameHere): void {
  if (name.isFlat) return;
  name.text = Buffer.from(name.text, 'latin1').toString('latin1');
  name.isFlat = true;
}

function mustFit(bytes: number): void {
  if (bytes > NAME_BYTES_MAX) throw new DnsFormatError(`A name is longer than ${NAME_BYTES_MAX} bytes.`);
}

function mustBeFew(pointers: number): void {
  if (pointers > POINTERS_MAX) throw new DnsFormatError(`A name has more than ${POINTERS_MAX} pointers.`);
}

const MESSAGE_BYTES_MAX = 65_535;
/** A pointer has 14 bits. */
const POINTER_MAX = 0x3fff;

export class WireWriter {
  readonly #chunks: Buffer[] = [];
  readonly #places: Map<string, number> | undefined;
  #length = 0;

  constructor(options: { compress: boolean }) {
    this.#places = options.compress ? new Map() : undefined;
  }

  uint8(value: number): void {
    this.bytes(Buffer.from([mustBe(value, 0xff)]));
  }

  uint16(value: number): void {
    const chunk = Buffer.alloc(2);
    chunk.writeUInt16BE(mustBe(value, 0xffff));
    this.bytes(chunk);
  }

  uint32(value: number): void {
    const chunk = Buffer.alloc(4);
    chunk.writeUInt32BE(mustBe(value, 0xffff_ffff));
    this.bytes(chunk);
  }

  uint48(value: number): void {
    const chunk = Buffer.alloc(6);
    chunk.writeUIntBE(mustBe(value, 2 ** 48 - 1), 0, 6);
    this.bytes(chunk);
  }

  bytes(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    if (this.#length > MESSAGE_BYTES_MAX) {
      throw new DnsFormatError(`The message is longer than ${MESSAGE_BYTES_MAX} bytes.`);
    }
  }

  /** Writes a string of at most 255 bytes, preceded by its length. */
  shortString(text: string): void {
    const chunk = latin1(text);
    if (chunk.length > 255) throw new DnsFormatError(`A string has ${chunk.length} bytes; at most 255 are allowed.`);
    this.uint8(chunk.length);
    this.bytes(chunk);
  }

  /** Letter case is preserved, so that only names of the same case share their bytes. */
  name(name: string): void {
    const labels = nameLabels(name);
    for (let from = 0; from < labels.length; from++) {
      const rest = nameFromBytes(labels.slice(from));
      const place = this.#places?.get(rest);
      if (place !== undefined) return this.uint16(0xc000 | place);
      if (this.#length <= POINTER_MAX && !this.#places?.has(rest)) this.#places?.set(rest, this.#length);
      this.shortString(labels[from] ?? '');
    }
    this.uint8(0);
  }

  /** Writes what `write` adds, preceded by its length in two bytes. */
  measured(write: () => void): void {
    const length = Buffer.alloc(2);
    this.bytes(length);
    const from = this.#length;
    write();
    length.writeUInt16BE(this.#length - from);
  }

  done(): Buffer {
    return Buffer.concat(this.#chunks, this.#length);
  }
}

export function latin1(text: string): Buffer {
  if (/[^\0-\xff]/.test(text)) throw new DnsFormatError('A string of a record is given as bytes, one character each.');
  return Buffer.from(text, 'latin1');
}

function mustBe(value: number, max: number): number {
  if (Number.isInteger(value) && value >= 0 && value <= max) return value;
  throw new DnsFormatError(`The number ${value} does not fit; 0 to ${max} are allowed.`);
}
