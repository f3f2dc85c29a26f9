import { DnsFormatError } from './dns-format-error.ts';
import { nameFromBytes } from './name.ts';

const NAME_BYTES_MAX = 255;
/** A name has at most 127 labels; more pointers than that are an attack on the reader's time. */
const POINTERS_MAX = 127;

/** Reads a message from front to back and never past its end. */
export class WireReader {
  at: number;
  readonly bytes: Buffer;

  constructor(bytes: Buffer, at = 0) {
    this.bytes = bytes;
    this.at = at;
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
    const labels: string[] = [];
    let size = 1;
    let at = this.at;
    let end: number | undefined;
    let earliest = this.at;
    for (let pointers = 0; ;) {
      const length = this.byteAt(at);
      if (length < 0x40) {
        if (length === 0) break;
        if (at + 1 + length > this.bytes.length)
          throw new DnsFormatError('A label goes beyond the end of the message.');
        size += 1 + length;
        if (size > NAME_BYTES_MAX) throw new DnsFormatError(`A name is longer than ${NAME_BYTES_MAX} bytes.`);
        labels.push(this.bytes.toString('latin1', at + 1, at + 1 + length));
        at += 1 + length;
        continue;
      }
      if (length < 0xc0)
        throw new DnsFormatError(`A label starts with 0x${length.toString(16)}, which no RFC has given a meaning.`);
      const target = ((length & 0x3f) << 8) | this.byteAt(at + 1);
      end ??= at + 2;
      if (target >= earliest) throw new DnsFormatError('A compressed name does not point backwards.');
      if (++pointers > POINTERS_MAX) throw new DnsFormatError(`A name has more than ${POINTERS_MAX} pointers.`);
      earliest = target;
      at = target;
    }
    this.at = end ?? at + 1;
    return nameFromBytes(labels);
  }

  private byteAt(at: number): number {
    const byte = this.bytes[at];
    if (byte === undefined) throw new DnsFormatError('A name goes beyond the end of the message.');
    return byte;
  }
}
