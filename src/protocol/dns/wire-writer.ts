import { DnsFormatError } from './dns-format-error.ts';
import { nameFromBytes, nameLabels } from './name.ts';

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

  /** A string with its length in front, at most 255 bytes. */
  shortString(text: string): void {
    const chunk = latin1(text);
    if (chunk.length > 255) throw new DnsFormatError(`A string has ${chunk.length} bytes; at most 255 are possible.`);
    this.uint8(chunk.length);
    this.bytes(chunk);
  }

  /** Letter case is kept, so that only names of the same case share their bytes. */
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

  /** Whatever `write` adds, with its length in two bytes before it. */
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
  throw new DnsFormatError(`The number ${value} does not fit; 0 to ${max} are possible.`);
}
