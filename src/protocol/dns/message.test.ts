import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DnsFormatError, nameFromBytes } from './wire.ts';
import { decodeMessage, decodeWithPlaces, encodeMessage, questionMessage, type DnsMessage } from './message.ts';
import type { DnsRecord, RecordData } from './record.ts';

const anyBytes = (min: number, max: number) =>
  fc.uint8Array({ minLength: min, maxLength: max }).map((bytes) => Buffer.from(bytes).toString('latin1'));
const anyName = fc
  .array(fc.oneof(anyBytes(1, 20), fc.constantFrom('example', 'com', 'mail', '_dmarc')), { maxLength: 8 })
  .map(nameFromBytes);
const uint = (bits: number) => fc.integer({ min: 0, max: 2 ** bits - 1 });
const anyData: fc.Arbitrary<RecordData> = fc.oneof(
  fc.ipV4().map((address) => ({ type: 'A' as const, address })),
  fc
    .ipV6()
    .map((address) => ({ type: 'AAAA' as const, address: new URL(`http://[${address}]`).hostname.slice(1, -1) })),
  fc.record({ type: fc.constantFrom('NS' as const, 'CNAME' as const, 'PTR' as const), target: anyName }),
  fc.record({ type: fc.constant('MX' as const), priority: uint(16), exchange: anyName }),
  fc.record({ type: fc.constant('TXT' as const), strings: fc.array(anyBytes(0, 255), { minLength: 1, maxLength: 4 }) }),
  fc.record({
    type: fc.constant('CAA' as const),
    flags: uint(8),
    tag: fc.stringMatching(/^[a-z0-9]{1,15}$/),
    value: anyBytes(0, 80),
  }),
  fc.record({
    type: fc.constant('SOA' as const),
    primary: anyName,
    mailbox: anyName,
    serial: uint(32),
    refresh: uint(32),
    retry: uint(32),
    expire: uint(32),
    minimum: uint(32),
  }),
  fc.record({
    type: fc.constant('TLSA' as const),
    usage: uint(8),
    selector: uint(8),
    matching: uint(8),
    association: fc.uint8Array({ maxLength: 70 }).map((bytes) => Buffer.from(bytes)),
  }),
  fc.record({
    type: fc.constant('opaque' as const),
    number: fc.constantFrom(41, 43, 255, 65_280),
    bytes: fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
  }),
);
const anyRecord: fc.Arbitrary<DnsRecord> = fc.record({ name: anyName, class: uint(16), ttl: uint(32), data: anyData });
const anySection = fc.array(anyRecord, { maxLength: 4 });
const anyMessage: fc.Arbitrary<DnsMessage> = fc.record({
  id: uint(16),
  isAnswer: fc.boolean(),
  opcode: uint(4),
  authoritative: fc.boolean(),
  truncated: fc.boolean(),
  recursionDesired: fc.boolean(),
  recursionAvailable: fc.boolean(),
  authenticData: fc.boolean(),
  checkingDisabled: fc.boolean(),
  rcode: uint(4),
  questions: fc.array(fc.record({ name: anyName, type: uint(16), class: uint(16) }), { maxLength: 2 }),
  answers: anySection,
  authorities: anySection,
  additionals: anySection,
});

test('a DNS message that was written can be read back, with compressed names or without', () => {
  fc.assert(
    fc.property(anyMessage, (message) => {
      expect(decodeMessage(encodeMessage(message))).toEqual(message);
      expect(decodeMessage(encodeMessage(message, { compress: true }))).toEqual(message);
    }),
  );
});

test('any bytes are read as a DNS message or fail with a DnsFormatError', () => {
  const read = (bytes: Buffer): void => {
    try {
      decodeMessage(bytes);
    } catch (error) {
      expect(error).toBeInstanceOf(DnsFormatError);
    }
  };
  fc.assert(fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => read(Buffer.from(bytes))));
  fc.assert(
    fc.property(anyMessage, fc.nat(), uint(8), fc.nat(), (message, at, byte, cut) => {
      const bytes = encodeMessage(message, { compress: true });
      bytes[at % bytes.length] = byte;
      read(bytes);
      read(bytes.subarray(0, cut % bytes.length));
    }),
  );
});

const header = (questions: number, answers: number): Buffer =>
  Buffer.from([0, 7, 0x81, 0x80, 0, questions, 0, answers, 0, 0, 0, 0]);

test.each([
  ['a pointer to itself', [0xc0, 12, 0, 1, 0, 1], 'does not point backwards'],
  ['a pointer ahead', [0xc0, 40, 0, 1, 0, 1], 'does not point backwards'],
  ['a pointer cut in half', [0xc0], 'beyond the end'],
  ['a label of 64 bytes', [0x40, ...new Array<number>(64).fill(97), 0, 0, 1, 0, 1], 'no RFC has given a meaning'],
  ['a label beyond the end', [5, 97, 98], 'beyond the end'],
  [
    'a name of 256 bytes',
    [...Array.from({ length: 5 }, () => [50, ...new Array<number>(50).fill(97)]).flat(), 0, 0, 1, 0, 1],
    'longer than 255',
  ],
  ['a name without an end', [1, 97], 'beyond the end'],
])('a DNS name with %s is refused', (_what, question, why) => {
  expect(() => decodeMessage(Buffer.concat([header(1, 0), Buffer.from(question)]))).toThrow(why);
});

test('a long chain of compression pointers is not followed to its end', () => {
  const rdataAt = 23;
  const pointerTo = (at: number): number[] => [0xc0 | (at >> 8), at & 0xff];
  const chain = Array.from({ length: 8000 }, (_, i) => (i === 0 ? [0, 0] : pointerTo(rdataAt + 2 * (i - 1))));
  const rdata = chain.flat();
  const holder = [0, 0xff, 0, 0, 1, 0, 0, 0, 0, rdata.length >> 8, rdata.length & 0xff, ...rdata];
  const named = (i: number): Buffer =>
    Buffer.concat([
      header(0, 2),
      Buffer.from([...holder, ...pointerTo(rdataAt + 2 * i), 0, 1, 0, 1, 0, 0, 0, 0, 0, 0]),
    ]);
  expect(decodeMessage(named(126)).answers[1]?.name).toBe('.');
  expect(() => decodeMessage(named(7999))).toThrow('more than 127 pointers');
});

test.each([
  ['an A record of three bytes', 1, [192, 0, 2], 'middle of a field'],
  ['an A record of five bytes', 1, [192, 0, 2, 1, 9], 'left over'],
  ['a TXT record whose string is cut', 16, [5, 97], 'middle of a field'],
  ['an MX record without a name', 15, [0, 10], 'beyond the end'],
  ['a CAA record whose tag has a blank', 257, [0, 2, 97, 32, 98], 'letters and digits'],
  ['a TLSA record of two bytes', 52, [3, 1], 'middle of a field'],
])('%s is refused', (_what, type, data, why) => {
  const record = [0, type >> 8, type & 0xff, 0, 1, 0, 0, 0, 60, 0, data.length, ...data];
  expect(() => decodeMessage(Buffer.concat([header(0, 1), Buffer.from(record)]))).toThrow(why);
});

test.each([
  ['without its bits', {}, [0x01, 0x00]],
  ['that asks whether the answer is authentic', { authenticData: true }, [0x01, 0x20]],
  ['that asks for answers that are not checked', { checkingDisabled: true }, [0x01, 0x10]],
])('a question %s has these flags', (_what, options, flags) => {
  const bytes = encodeMessage(questionMessage(1, 'example.com', 'TLSA', { recursionDesired: true, ...options }));
  expect([...bytes.subarray(2, 4)]).toEqual(flags);
});

test.each<[string, RecordData, string]>([
  ['a string of 256 bytes', { type: 'TXT', strings: ['x'.repeat(256)] }, 'at most 255'],
  ['no string at all', { type: 'TXT', strings: [] }, 'one string at least'],
  ['a letter that is no byte', { type: 'TXT', strings: ['€'] }, 'one character each'],
  ['an IPv6 address as A', { type: 'A', address: '::1' }, 'IPv4 address'],
  ['an address with a zone', { type: 'AAAA', address: 'fe80::1%eth0' }, 'IPv6 address'],
  ['a priority above 65535', { type: 'MX', priority: 65_536, exchange: 'a.example' }, '0 to 65535'],
  ['an empty label', { type: 'CNAME', target: 'a..example' }, 'empty label'],
  ['a label of 64 bytes', { type: 'CNAME', target: `${'a'.repeat(64)}.example` }, 'at most 63'],
  ['a name of 256 bytes', { type: 'CNAME', target: new Array(5).fill('a'.repeat(50)).join('.') }, 'at most 255'],
  ['a name of letters that are no bytes', { type: 'CNAME', target: 'bü€cher.example' }, 'A-labels'],
])('a record with %s cannot be written', (_what, data, why) => {
  const message: DnsMessage = {
    ...questionMessage(1, 'example.com', 'A', { recursionDesired: false }),
    answers: [{ name: 'example.com', class: 1, ttl: 0, data }],
  };
  expect(() => encodeMessage(message)).toThrow(why);
});

describe('the work of reading a DNS message', () => {
  const LONGEST = Buffer.from([...new Array<number[]>(126).fill([1, 1]).flat(), 0]);
  const pointer = (at: number): number[] => [0xc0 | (at >> 8), at & 0xff];
  const record = (name: number[], type: number, data: number[]): Buffer =>
    Buffer.from([...name, type >> 8, type & 0xff, 0, 1, 0, 0, 0, 0, data.length >> 8, data.length & 0xff, ...data]);
  /** Builds one question with the longest possible name, and records. */
  const holding = (records: readonly Buffer[]): Buffer => {
    const head = header(1, 0);
    head.writeUInt16BE(records.length, 6);
    return Buffer.concat([head, LONGEST, Buffer.from([0, 16, 0, 1]), ...records]);
  };
  const many = (count: number, make: (i: number) => Buffer): Buffer[] =>
    Array.from({ length: count }, (_, i) => make(i));

  test('does not grow with the names that pointers lead to', () => {
    const pointing = many(499, () => record(pointer(12), 2, [1, 97, ...pointer(14)]));
    const { message, steps } = decodeWithPlaces(holding(pointing));
    expect(message.answers).toHaveLength(499);
    expect(message.answers[498]).toMatchObject({
      name: message.questions[0]?.name,
      data: { target: `a.${nameFromBytes(new Array<string>(125).fill('\u0001'))}` },
    });
    // The question's labels once; for each record itself, its pointer and end, and the label, pointer and end of its data.
    expect(steps).toBeLessThan(200 + 499 * 6);
  });

  test.each([
    ['more than 500 records', many(500, () => record(pointer(12), 99, [])), '501 questions and records'],
    ['labels without end', many(100, () => record([...LONGEST], 99, [])), 'more than 8192'],
    ['strings without end', many(20, () => record([0], 16, new Array<number>(500).fill(0))), 'more than 8192'],
  ])('stops at %s', (_what, records, why) => {
    expect(() => decodeMessage(holding(records))).toThrow(why);
  });

  test('allows as many records as anybody publishes, even without compression', () => {
    const name = Buffer.from('\u0003www\u0007example\u0003com\u0000', 'latin1');
    const records = many(499, () => record([...name], 15, [0, 10, ...name]));
    expect(decodeMessage(holding(records)).answers).toHaveLength(499);
  });
});
