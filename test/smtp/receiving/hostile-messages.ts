import { deflateRawSync, gzipSync } from 'node:zlib';
import { dice } from '../../rig/seed.ts';

/** Messages that nobody means well with, the same for the same seed. All lines end with CRLF. */
export interface Hostile {
  name: string;
  raw: Buffer;
}

type Roll = () => number;
const whole = (roll: Roll, max: number): number => Math.floor(roll() * max);
const pick = <T>(roll: Roll, all: readonly T[]): T => all[whole(roll, all.length)] as T;
const lines = (...all: string[]): string => `${all.join('\r\n')}\r\n`;
const HEAD = ['From: a@example.org', 'To: b@example.com', 'Subject: hostile'];

/** Any bytes, but no CR or LF. */
function noise(roll: Roll, length: number): string {
  let text = '';
  for (let n = 0; n < length; n++) {
    const byte = whole(roll, 256);
    text += byte === 10 || byte === 13 ? '.' : String.fromCharCode(byte);
  }
  return text;
}

function nested(depth: number, closing: boolean): string {
  const open = Array.from(
    { length: depth },
    (_, n) => `Content-Type: multipart/mixed; boundary="b${n}"\r\n\r\n--b${n}\r\n`,
  );
  const close = closing ? Array.from({ length: depth }, (_, n) => `--b${depth - 1 - n}--`) : [];
  return lines(...HEAD) + open.join('') + lines('Content-Type: text/plain', '', 'deep', ...close);
}

function nestedMessages(depth: number): string {
  return lines(...HEAD) + 'Content-Type: message/rfc822\r\n\r\nSubject: in\r\n'.repeat(depth) + lines('', 'end');
}

const ENCODINGS = [
  'base64',
  'quoted-printable',
  'x-uuencode',
  '7bit',
  'binary',
  'BASE64',
  'base64;x',
  '=?utf-8?q?base64?=',
  '',
];
const CHARSETS = [
  'utf-7',
  'utf-8',
  'iso-2022-jp',
  'utf-16',
  'utf-32',
  'gb18030',
  'x-unknown',
  'us-ascii\u0000',
  '"',
  'iso-8859-99',
  'hz-gb-2312',
];

/** Zeros that take a thousandth of their room, as gzip or as the one file of a ZIP archive that says it is small. */
function bomb(bytes: number, isGzip: boolean): Buffer {
  const zeros = Buffer.alloc(bytes);
  if (isGzip) return gzipSync(zeros);
  const packed = deflateRawSync(zeros);
  const head = Buffer.alloc(30);
  head.write('PK\u0003\u0004', 'latin1');
  head.writeUInt16LE(20, 4);
  head.writeUInt16LE(8, 8);
  head.writeUInt32LE(packed.length, 18);
  head.writeUInt32LE(10, 22);
  head.writeUInt16LE(5, 26);
  return Buffer.concat([head, Buffer.from('a.txt'), packed]);
}

/** RFC 2152, as it should be and as it should not: markup that a reader would see only after decoding, runs without end. */
const UTF_7 = [
  '+ADw-script+AD4-alert(1)+ADw-/script+AD4-',
  '+ADwAcwBjAHIAaQBwAHQAPg-',
  `+${'A'.repeat(100_000)}`,
  '+'.repeat(50_000),
  '+-'.repeat(50_000),
  '+2AA-+3AA-+2ADcAA',
  '+//8-+AAA-+AA0ACg-.+AA0ACg-',
  `${'+AGEAYg-'.repeat(20_000)}+`,
  '+AG=EAYg+ADw-\u00ff+\u0000-',
];

const FAMILIES: Record<string, (roll: Roll, n: number) => string> = {
  'nested parts': (_, n) => nested([10, 63, 64, 65, 66, 255, 257, 1000, 5000, 20_000][n % 10] ?? 1, n % 2 === 0),
  'nested messages': (_, n) => nestedMessages([1, 9, 11, 100, 1000, 5000][n % 6] ?? 1),
  'many headers': (_, n) => {
    const count = [1000, 5000, 20_000, 100_000][n % 4] ?? 1;
    return lines(...Array.from({ length: count }, (_, i) => `X-${n % 2 ? i : 'Same'}: ${i}`), '', 'x');
  },
  'long headers': (_, n) =>
    lines(`Subject: ${'x'.repeat([1000, 100_000, 600_000][n % 3] ?? 1)}`, 'From: a@example.org', '', 'x'),
  'folded headers': (roll, n) =>
    lines(
      ...HEAD,
      `X-Folded: a${`\r\n${pick(roll, [' ', '\t', ' \t '])}b`.repeat([10, 1000, 50_000][n % 3] ?? 1)}`,
      '',
      'x',
    ),
  encodings: (roll) =>
    lines(
      ...HEAD,
      `Content-Type: text/${pick(roll, ['plain', 'html', ''])}; charset=${pick(roll, CHARSETS)}`,
      `Content-Transfer-Encoding: ${pick(roll, ENCODINGS)}`,
      '',
      noise(roll, 2000),
      '=?=3D=\u0000=ZZ=',
      '+ADw-script+AD4-alert(1)+ADw-/script+AD4-',
    ),
  'UTF-7': (roll, n) => {
    const text = UTF_7[n % UTF_7.length] ?? '';
    const charset = pick(roll, ['utf-7', 'UTF-7', 'unicode-1-1-utf-7', 'x-unicode-2-0-utf-7', 'UTF-7-IMAP']);
    const short = text.slice(0, 400);
    return lines(
      `From: =?${charset}?q?${short.replace(/[^\w+-]/g, '')}?= <a@example.org>`,
      `Subject: =?${charset}?b?${Buffer.from(short, 'latin1').toString('base64')}?=`,
      `Content-Type: text/${n % 2 ? 'html' : 'plain'}; charset="${charset}"; name*=${charset}''%2BADw-`,
      `Content-Disposition: inline; filename="=?${charset}?q?+AC8-etc+AC8-passwd?="`,
      '',
      text,
    );
  },
  'zip bombs': (_, n) =>
    lines(
      ...HEAD,
      `Content-Type: application/${n % 2 ? 'gzip' : 'zip'}; name=bomb`,
      ...(n % 4 < 2 ? ['Content-Encoding: gzip'] : []),
      'Content-Transfer-Encoding: base64',
      '',
      bomb([100_000, 5_000_000, 50_000_000][n % 3] ?? 1, n % 2 === 1)
        .toString('base64')
        .replace(/.{76}/g, '$&\r\n'),
    ),
  'encoded words': (roll, n) =>
    lines(
      'From: =?utf-8?b?//79?= <a@example.org>',
      `Subject: ${`=?${pick(roll, CHARSETS)}?${pick(roll, ['q', 'b', 'x'])}?${noise(roll, 20).replaceAll('?', '')}?= `.repeat([1, 100, 5000][n % 3] ?? 1)}`,
      'To: =?utf-8?q?=3Ca=40b=3E?= <x@example.com>',
      '',
      'x',
    ),
  'lying boundaries': (roll, n) => {
    const given = pick(roll, [
      'b',
      '',
      '--',
      'b'.repeat(70),
      'b'.repeat(5000),
      '"',
      '\\"b',
      ' b ',
      'a b',
      'b\u0000c',
      '--b--',
    ]);
    const used = pick(roll, ['b', given, 'B', `${given} `, `${given}x`, '']);
    return lines(
      ...HEAD,
      `Content-Type: multipart/${pick(roll, ['mixed', 'alternative', 'related', 'digest', 'x'])}; boundary="${given}"`,
      '',
      ...Array.from(
        { length: 20 },
        (_, i) => `--${used}${pick(roll, ['', '--', ' ', '\t'])}\r\nContent-Type: text/plain\r\n\r\n${i}`,
      ),
      ...(n % 2 ? [] : [`--${used}--`, 'epilogue']),
    );
  },
  'the boundary of a parent': () =>
    lines(
      ...HEAD,
      'Content-Type: multipart/mixed; boundary=b',
      '',
      '--b',
      'Content-Type: multipart/mixed; boundary=b',
      '',
      '--b',
      '',
      'x',
      '--b--',
      '--b--',
    ),
  'many parts': (_, n) => {
    const count = [100, 999, 1001, 10_000, 50_000][n % 5] ?? 1;
    const part = n % 2 ? '--b\r\nContent-Disposition: attachment; filename=f\r\n\r\nx\r\n' : '--b\r\n\r\nx\r\n';
    return `${lines(...HEAD, 'Content-Type: multipart/mixed; boundary=b', '')}${part.repeat(count)}--b--\r\n`;
  },
  'endless lines': (_, n) => lines(...HEAD, '', 'x'.repeat([1000, 100_000, 5_000_000][n % 3] ?? 1)),
  NULs: (_, n) =>
    lines(
      `Subject: a\u0000b${'\u0000'.repeat(n)}`,
      'From: \u0000 <a\u0000@example.org>',
      '\u0000X: y',
      '',
      `\u0000${'\u0000'.repeat(1000)}`,
    ),
  noise: (roll) => lines(...HEAD, '', ...Array.from({ length: 50 }, () => noise(roll, whole(roll, 300)))),
  'noise from the first byte': (roll) => lines(...Array.from({ length: 80 }, () => noise(roll, whole(roll, 200)))),
  compressed: (_, n) =>
    lines(
      ...HEAD,
      'Content-Type: application/zip; name=bomb.zip',
      'Content-Transfer-Encoding: base64',
      'Content-Disposition: attachment; filename=bomb.zip',
      '',
      Buffer.from(`PK\u0003\u0004${'\u0000'.repeat([100, 10_000, 1_000_000][n % 3] ?? 1)}`).toString('base64'),
    ),
  parameters: (roll, n) => {
    const count = [3, 100, 10_000][n % 3] ?? 1;
    const parts = Array.from({ length: count }, (_, i) =>
      pick(roll, [
        `name*${i}*=utf-8''%E2%98%83`,
        `name*${i}="x"`,
        `name*${i}=%`,
        `name*=''`,
        `name*${count - i}*=%FF`,
        `filename*0*=a'b'c`,
        '; ;',
        `name="${'x'.repeat(50)}"`,
      ]),
    );
    return lines(
      ...HEAD,
      `Content-Type: application/octet-stream; ${parts.join('; ')}`,
      `Content-Disposition: attachment; ${parts.join(';')}`,
      '',
      'x',
    );
  },
  'parameters with holes': () =>
    lines(
      ...HEAD,
      'Content-Disposition: attachment; filename*99999999999=a; filename*-1=b; filename*__proto__=c; __proto__=d; filename*0*=utf-8',
      '',
      'x',
    ),
  addresses: (roll, n) => {
    const count = [10, 1000, 30_000][n % 3] ?? 1;
    const one = pick(roll, [
      'a@example.org',
      '"x" <a@example.org>',
      'g: a@example.org, b@example.org;',
      '<',
      '(',
      '"',
      '((((',
      '<<a@b>>',
      ',',
      'a@b@c',
      '\\"',
      ':;',
    ]);
    return lines(
      `From: ${one}`,
      `To: ${Array.from({ length: count }, () => one).join(',')}`,
      `Reply-To: ${'('.repeat(1000)}`,
      'Subject: x',
      '',
      'x',
    );
  },
  'no headers': (roll) => lines('', noise(roll, 100)),
  'headers without a body': () => 'From: a@example.org\r\nSubject: x\r\n',
  'odd headers': (roll) =>
    lines(
      pick(roll, [
        ' : x',
        ':',
        'NoColon',
        'From a@example.org Mon',
        'X Y: z',
        '__proto__: x',
        'constructor: y',
        'toString: z',
        'Ünï: x',
        '\u00a0From: fake@example.org',
        '\ufeffFrom: fake@example.org',
      ]),
      'From: a@example.org',
      'from: b@example.org',
      'hasOwnProperty: x',
      '__proto__: y',
      '',
      'x',
    ),
  'base64 that is none': (roll) =>
    lines(
      ...HEAD,
      'Content-Transfer-Encoding: base64',
      'Content-Type: image/png',
      '',
      noise(roll, 1000),
      '====',
      'AAA',
      'A===A==',
      '\u00ff',
    ),
  'deep HTML': (_, n) =>
    lines(...HEAD, 'Content-Type: text/html', '', '<div>'.repeat([100, 10_000, 300_000][n % 3] ?? 1)),
  'pictures without end': (_, n) =>
    lines(
      ...HEAD,
      'Content-Type: multipart/related; boundary=b',
      '',
      '--b',
      'Content-Type: text/html',
      '',
      '<img src="cid:a">'.repeat([10, 10_000][n % 2] ?? 1),
      '--b',
      'Content-Type: image/png',
      'Content-ID: <a>',
      '',
      'x'.repeat(100_000),
      '--b--',
    ),
  'content ids': (roll) =>
    lines(
      ...HEAD,
      'Content-Type: multipart/related; boundary=b',
      '',
      '--b',
      `Content-ID: ${noise(roll, 50)}`,
      'Content-Type: image/png',
      '',
      'x',
      '--b',
      'Content-ID: <>',
      'Content-Type: image/png',
      '',
      'y',
      '--b--',
    ),
};

export function hostileMessages(perFamily: number): Hostile[] {
  return Object.entries(FAMILIES).flatMap(([name, make], family) =>
    Array.from({ length: perFamily }, (_, n) => {
      const head = `Message-ID: <${family}-${n}@hostile.example>\r\n`;
      const content = make(dice(family * 1000 + n), n);
      // Some are about what stands in the first line.
      return { name: `${name} ${n}`, raw: Buffer.from(n % 3 === 0 ? head + content : content, 'latin1') };
    }),
  );
}
