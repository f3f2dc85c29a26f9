import { describe, expect, it } from 'vitest';
import { composeMessage } from '../mime/index.ts';
import {
  forwardSubject,
  messageIdsIn,
  readSubject,
  readThreadIndex,
  replyFields,
  replyRecipients,
  replySubject,
} from './index.ts';

const NOW = Date.UTC(2026, 10, 20);
const AT = { now: NOW, random: 7 };
const words = (count: number): string =>
  Array.from({ length: count }, (_, at) => `<id-number-${at}@somewhere.example>`).join(' ');
const buildFields = (messageId: string | null, headers: Record<string, string> = {}) =>
  Object.fromEntries(replyFields({ messageId, headers, subject: 'x' }, AT));

describe('the threading headers of a reply', () => {
  it('contain the first message as the only reference', () => {
    expect(buildFields('<a@x.example>')).toEqual({ 'In-Reply-To': '<a@x.example>', References: '<a@x.example>' });
  });

  it('add the message to the References', () => {
    const { References } = buildFields('a@x.example', {
      references: '<r1@x.example>\r\n <r2@x.example>',
      'in-reply-to': '<r2@x.example>',
    });
    expect(References).toBe('<r1@x.example> <r2@x.example> <a@x.example>');
  });

  it('use In-Reply-To when References is missing and it names one message', () => {
    expect(buildFields('<a@x>', { 'in-reply-to': '<r@x>' })['References']).toBe('<r@x> <a@x>');
    expect(buildFields('<a@x>', { 'in-reply-to': '<r@x> <s@x>' })['References']).toBe('<a@x>');
  });

  it('shorten a megabyte of References to one line: the first, and the last ones before the message', () => {
    const { References = '' } = buildFields('<a@x.example>', { references: words(30_000) });
    expect(References.length).toBeLessThanOrEqual(900);
    const ids = References.split(' ');
    expect([ids[0], ids.at(-2), ids.at(-1)]).toEqual([
      '<id-number-0@somewhere.example>',
      '<id-number-29999@somewhere.example>',
      '<a@x.example>',
    ]);
  });

  it('are left out for a message without a usable id', () => {
    for (const id of [null, '', 'word', '<ä@x.example>', '<>', `<${'a'.repeat(800)}@x>`])
      expect(buildFields(id)).toEqual({});
  });

  it('contain no line that the sender made up', () => {
    const fields = buildFields('<a@x>\r\nBcc: <eve@evil.example>', {
      references: '<r@x>\r\nX-Evil: 1\0 <s@x>',
      'thread-index': 'AdxaAAAAABEiM0RVZneImaq7zN3u/w==',
      'thread-topic': 'Printer\r\nBcc: eve@evil.example',
    });
    expect(fields['Thread-Topic']).toBe('Printer Bcc: eve@evil.example');
    for (const value of Object.values(fields)) expect(value).not.toMatch(/[\r\n\0]/);
    const from = { name: '', local: 's', domain: 'x.example', address: 's@x.example', needsSmtpUtf8: false };
    const headers = Object.entries(fields);
    const input = {
      from,
      to: [from],
      subject: 'x',
      date: new Date(NOW),
      messageId: 'm@x.example',
      text: '',
      headers,
      boundarySeed: '',
    };
    expect(composeMessage(input).headers.map(([name]) => name)).not.toContain('Bcc');
  });

  it('append a child block to the Thread-Index of Outlook', () => {
    const root = 'AdxaAAAAABEiM0RVZneImaq7zN3u/w==';
    const index = buildFields('<a@x>', { 'thread-index': root })['Thread-Index'] ?? '';
    const before = readThreadIndex(root);
    const after = readThreadIndex(index);
    expect(after?.conversation).toBe(before?.conversation);
    expect(after?.bytes.length).toBe((before?.bytes.length ?? 0) + 5);
    // [MS-OXOMSG] 2.2.1.3: the time since the first message, in units of 2^18 ticks of 100 ns.
    const begun = BigInt(before?.bytes.readUIntBE(0, 6) ?? 0) << 16n;
    const ticks = BigInt(NOW) * 10_000n + 116_444_736_000_000_000n - begun;
    expect(after?.bytes.readUInt32BE(22)).toBe(Number(ticks >> 18n));
    expect(after?.bytes[26]).toBe(7);
  });

  it('count a conversation of years in larger units, and one from the future from now', () => {
    const readBlock = (root: string) =>
      readThreadIndex(buildFields('<a@x>', { 'thread-index': root })['Thread-Index'] ?? '')?.bytes.readUInt32BE(22);
    const rootAt = (hex: string) => Buffer.from(`${hex}00112233445566778899aabbccddeeff`, 'hex').toString('base64');
    expect((readBlock(rootAt('01d5a0000000')) ?? 0) >>> 31).toBe(1);
    expect(readBlock(rootAt('01ff00000000'))).toBe(0);
  });
});

describe('the subject of a reply', () => {
  it.each([
    ['Printer', 'Re: Printer', 'Fwd: Printer'],
    ['Re: Printer', 'Re: Printer', 'Fwd: Printer'],
    ['AW: Re: SV: 回复：Printer', 'Re: Printer', 'Fwd: Printer'],
    ['RE[12]: Printer', 'Re: Printer', 'Fwd: Printer'],
    ['Automatic reply: Printer', 'Re: Printer', 'Fwd: Printer'],
    ['Fwd: Printer', 'Re: Fwd: Printer', 'Fwd: Printer'],
    ['WG: AW: Printer', 'Re: WG: AW: Printer', 'Fwd: Printer'],
    ['[List] Re: Printer', 'Re: [List] Re: Printer', 'Fwd: [List] Re: Printer'],
    ['Regarding: Printer', 'Re: Regarding: Printer', 'Fwd: Regarding: Printer'],
    ['', 'Re:', 'Fwd:'],
    ['Printer\r\nBcc: eve@evil.example', 'Re: Printer Bcc: eve@evil.example', 'Fwd: Printer Bcc: eve@evil.example'],
  ])('is derived from %j', (subject, reply, forward) => {
    expect(replySubject(subject)).toBe(reply);
    expect(forwardSubject(subject)).toBe(forward);
    expect(readSubject(reply).base).toBe(readSubject(subject).base);
  });

  it('is truncated between characters when it has a megabyte', () => {
    const subject = replySubject('Re: '.repeat(100_000) + '😀'.repeat(100_000));
    expect(Buffer.byteLength(subject)).toBeLessThanOrEqual(800);
    expect(subject.isWellFormed()).toBe(true);
  });
});

describe('the recipients of a reply are', () => {
  const own = new Set(['support@shop.example']);
  const ann = 'Ann <ann@home.example>';
  const answered = {
    from: ann,
    replyTo: [],
    to: ['support@shop.example', 'bob@home.example'],
    cc: ['cat@home.example', 'Support <SUPPORT@Shop.example>'],
  };
  const token = `support+r${'0'.repeat(42)}@shop.example`;

  it.each([
    ['the sender', {}, false, [ann], []],
    ['the sender and all recipients for a reply to all', {}, true, [ann], ['bob@home.example', 'cat@home.example']],
    [
      'the address of Reply-To',
      { replyTo: ['desk@home.example'] },
      true,
      ['desk@home.example'],
      ['bob@home.example', 'cat@home.example'],
    ],
    [
      'both addresses of Reply-To',
      { replyTo: ['a@x.example', 'b@x.example', 'a@x.example'] },
      false,
      ['a@x.example', 'b@x.example'],
      [],
    ],
    ['the sender when Reply-To is our own address', { replyTo: ['Support@shop.example'] }, false, [ann], []],
    ['the sender when Reply-To is one of our reply addresses', { replyTo: [token] }, false, [ann], []],
    ['the sender when Reply-To is no address', { replyTo: ['nobody', '<>'] }, false, [ann], []],
    ['the recipients when we wrote the message', { from: 'support@shop.example', to: [ann] }, false, [ann], []],
    [
      'listed only once',
      { to: ['ANN@home.example', 'bob@home.example', 'Bob <bob@home.example>'] },
      true,
      [ann],
      ['bob@home.example', 'cat@home.example'],
    ],
    ['empty when there is nobody else', { from: 'support@shop.example', to: [token], cc: [] }, true, [], []],
    [
      'the bare address when its name is a different address',
      { from: '"ceo@bank.example" <eve@evil.example>' },
      false,
      ['eve@evil.example'],
      [],
    ],
    [
      'named without text direction marks',
      { from: '"Ann \u202eevil" <ann@home.example>' },
      false,
      ['Ann evil <ann@home.example>'],
      [],
    ],
  ] as const)('%s', (_name, change, all, to, cc) => {
    expect(replyRecipients({ ...answered, ...change }, { own, all })).toEqual({ to, cc });
  });
});

it('message ids are read from a field that is not a list of them', () => {
  const taken = { first: 5, last: 5 };
  expect(messageIdsIn('word', taken)).toEqual([]);
  expect(messageIdsIn('', taken)).toEqual([]);
  expect(messageIdsIn('<>', taken)).toEqual([]);
  expect(messageIdsIn('<@>', taken)).toEqual([]);
  expect(messageIdsIn('"<q@x>" (<c@x>) <a@x>', taken)).toEqual(['a@x']);
  expect(messageIdsIn('<a@x><a@x> <b@x', taken)).toEqual(['a@x']);
  expect(messageIdsIn('(', taken)).toEqual([]);
  expect(messageIdsIn('<< a@x >> < <b @x>', taken)).toEqual(['a@x', 'b@x']);
});

it('white space and extra brackets around a message id are ignored', () => {
  const taken = { first: 5, last: 5 };
  expect(messageIdsIn('< a@x >\r\n <<b@x>> <c\r\n @x> <<< d@x >', taken)).toEqual(['a@x', 'b@x', 'c@x', 'd@x']);
  expect(messageIdsIn(`<${' '.repeat(400)}a@x${' '.repeat(400)}>`, taken)).toEqual(['a@x']);
});

it.each(['<', `<${' '.repeat(5000)}`, '(', '"', '<a', '(\\', '&lt;', '=?', '<a@x>\0', ' '])(
  // Quadratic work would take minutes, which is longer than a test may take.
  'a header field of a megabyte of %j is parsed to its end',
  (piece) => {
    const field = piece.repeat(1_000_000 / piece.length);
    expect(messageIdsIn(field, { first: 5, last: 30 }).length).toBeLessThanOrEqual(35);
    expect(readSubject(field).base.length).toBeLessThanOrEqual(field.length);
  },
);
