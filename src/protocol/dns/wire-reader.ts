import { DnsFormatError } from './dns-format-error.ts';
import { escapedLabel } from './name.ts';

const NAME_BYTES_MAX = 255;
/** A name has at most 127 labels; more pointers than that are an attack on the reader's time. */
const POINTERS_MAX = 127;
/**
 * What reading one message may take in all: labels, pointers, strings and records. Five hundred records with names of their own
 * stay below it; what takes more is made to keep its reader busy.
 */
const STEPS_MAX = 8192;

/** The name that starts at a place, with what stands behind it. */
interface NameHere {
  text: string;
  /** Whether its characters stand in one place: a text that was joined of many parts is slow to join again. */
  isFlat: boolean;
  /** Without the byte of the root. */
  bytes: number;
  pointers: number;
}

const ROOT: NameHere = { text: '.', isFlat: true, bytes: 0, pointers: 0 };

/** What all readers of one message share: each label is decoded once, however many names lead to it. */
interface Shared {
  steps: number;
  names: Map<number, NameHere>;
}

/** Reads a message from front to back and never past its end. */
export class WireReader {
  at: number;
  readonly bytes: Buffer;
  readonly #shared: Shared;

  constructor(bytes: Buffer, at = 0, shared: Shared = { steps: 0, names: new Map() }) {
    this.bytes = bytes;
    this.at = at;
    this.#shared = shared;
  }

  /** How much work the message has made so far. */
  get steps(): number {
    return this.#shared.steps;
  }

  /** A loop whose length the message decides takes a step each time around. */
  step(): void {
    if (++this.#shared.steps > STEPS_MAX) {
      throw new DnsFormatError(`The message has more than ${STEPS_MAX} labels, pointers, strings and records to read.`);
    }
  }

  /** A reader of the bytes before `end` that starts where this one stands; both count as one. */
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

  /** RFC 1035 §4.1.4: each pointer leads to an earlier place than the one before it, so that no chain can close. */
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
      // Once a pointer was followed, where this name ends is known.
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

/** A label, or a pointer where there is none, and the name behind it. */
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
