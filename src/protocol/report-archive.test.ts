import { deflateRawSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { zip, type ZipFile } from './report-archive.test-helper.ts';
import { unpackReport } from './report-archive.ts';

const XML = '<?xml version="1.0"?>\n<feedback/>\n';
const options = { bytesMax: 10 * 1024 * 1024 };

const unpack = async (bytes: Buffer | string, bytesMax = options.bytesMax): Promise<unknown> => {
  const result = await unpackReport(Buffer.from(bytes), { bytesMax });
  return 'fault' in result ? result.fault : result.content.toString();
};

const file = (name: string, text = XML): ZipFile => ({ name, content: Buffer.from(text) });

/** Repeats the records of a report, with different addresses. */
const largeReport = (records: number): string =>
  Array.from({ length: records }, (_, n) => `<record><ip>192.0.2.${n % 256}</ip><count>1</count></record>\n`).join('');

describe('the attachment of a report', () => {
  it.each([
    ['XML', XML],
    ['JSON', '{"policies":[]}'],
    ['text with a byte order mark and blank lines', `\uFEFF\r\n\n${XML}`],
  ])('may be %s as it is', async (_form, text) => {
    expect(await unpack(text)).toBe(text);
  });

  it('may be gzip, in several members, or with bytes after its end', async () => {
    expect(await unpack(gzipSync(XML))).toBe(XML);
    expect(await unpack(Buffer.concat([gzipSync('<feedback>'), gzipSync('</feedback>')]))).toBe(
      '<feedback></feedback>',
    );
    // Mimecast sends a line end after it.
    expect(await unpack(Buffer.concat([gzipSync(XML), Buffer.from('\r\n')]))).toBe(XML);
  });

  it('may be a zip archive, stored or deflated, whatever the flags about its sizes', async () => {
    expect(await unpack(zip(file('a.xml')))).toBe(XML);
    expect(await unpack(zip({ ...file('a.xml'), method: 0, flags: 0 }))).toBe(XML);
    expect(await unpack(Buffer.concat([zip(file('report')), Buffer.from('trailing')]))).toBe(XML);
  });

  it.each([
    [
      'Info-ZIP',
      'UEsDBAoAAAAAAHqYfV0dSznYDAAAAAwAAAAdABwAZXhhbXBsZS5uZXQhZXhhbXBsZS5jb20hMS54bWxVVAkAAxh3DGsYdwxrdXgLAAEEAAAAAAQAAAAAPGZlZWRiYWNrLz4KUEsBAh4DCgAAAAAAeph9XR1LOdgMAAAADAAAAB0AGAAAAAAAAQAAAKSBAAAAAGV4YW1wbGUubmV0IWV4YW1wbGUuY29tITEueG1sVVQFAAMYdwxrdXgLAAEEAAAAAAQAAAAAUEsFBgAAAAABAAEAYwAAAGMAAAAAAA==',
      '<feedback/>\n',
    ],
    [
      'Info-ZIP in a pipe',
      'UEsDBC0AAAAIAHqYfV2FmBCR//////////8BABQALQEAEAA1AAAAAAAAABgAAAAAAAAAs0lLTU1JSkzOtrNJtDO00U/ETevDlQIAUEsBAh4DLQAAAAgAeph9XYWYEJEYAAAANQAAAAEAAAAAAAAAAQAAAIARAAAAAC1QSwYGLAAAAAAAAAAeAy0AAAAAAAAAAAABAAAAAAAAAAEAAAAAAAAALwAAAAAAAABLAAAAAAAAAFBLBgcAAAAAegAAAAAAAAABAAAAUEsFBgAAAAABAAEALwAAAEsAAAAAAA==',
      '<feedback><a>1</a><a>1</a><a>1</a><a>1</a></feedback>',
    ],
    [
      'Python in a pipe',
      'UEsDBBQACAAAAAAAIQAAAAAAAAAAAAAAAAAFAAAAci54bWw8ZmVlZGJhY2svPlBLBwiEtwo7CwAAAAsAAABQSwECFAMUAAgAAAAAACEAhLcKOwsAAAALAAAABQAAAAAAAAAAAAAAgAEAAAAAci54bWxQSwUGAAAAAAEAAQAzAAAAPgAAAAAA',
      '<feedback/>',
    ],
  ])('may be a zip archive of %s', async (_program, base64, text) => {
    expect(await unpack(Buffer.from(base64, 'base64'))).toBe(text);
  });

  it('is the first file with a fitting name if the archive has several', async () => {
    const bytes = zip(
      file('a/'),
      file('readme.txt', 'x'),
      file('__MACOSX/r.xml', 'x'),
      file('b.XML'),
      file('c.xml', 'x'),
    );
    expect(await unpackReport(bytes, options)).toEqual({ kind: 'unpacked', content: Buffer.from(XML), name: 'b.XML' });
  });

  it('has a name that is safe to show', async () => {
    const name = `a\r\n\u202E${'b'.repeat(300)}.xml`;
    expect(await unpackReport(zip({ ...file(name), flags: 0x808 }), options)).toMatchObject({
      name: `a ${'b'.repeat(253)}`,
    });
  });

  it('may be a large report of similar records', async () => {
    const text = largeReport(40_000);
    expect(await unpack(gzipSync(text, { level: 9 }))).toBe(text);
    expect(await unpack(zip(file('a.xml', text)))).toBe(text);
  });

  const zeros = Buffer.alloc(4 * 1024 * 1024);
  const end = zip(file('a.xml')).subarray(-22);
  const zip64 = Buffer.concat([Buffer.from('PK\x03\x04'), end]);
  zip64.writeUInt16LE(0xffff, zip64.length - 12);
  const many = Buffer.from(zip64);
  many.writeUInt16LE(101, many.length - 12);
  const large = zip(file('a.xml'));
  large.writeUInt32LE(0xffffffff, large.length - 22 - 5 - 46 + 24);
  const noLocal = zip(file('a.xml'));
  noLocal.writeUInt32LE(0x7fffffff, noLocal.length - 22 - 5 - 46 + 42);

  it.each([
    ['', 'The file is not XML, JSON, gzip or zip.'],
    ['unused', 'The file is not XML, JSON, gzip or zip.'],
    [gzipSync(XML).subarray(0, -12), 'The compressed file is cut off.'],
    [Buffer.concat([gzipSync(XML).subarray(0, 10), Buffer.alloc(40, 0xff)]), 'The compressed file is damaged.'],
    [zip(file('a.xml')).subarray(0, -23), 'The archive is cut off: it has no directory.'],
    [Buffer.from('PK'), 'The archive is cut off: it has no directory.'],
    [zip(), 'None of the 0 files in the archive is a report.'],
    [zip(file('a.txt'), file('b.txt')), 'None of the 2 files in the archive is a report.'],
    [zip({ ...file('a.xml'), flags: 9 }), 'The archive is encrypted.'],
    [
      zip({ ...file('a.xml'), method: 12 }),
      'The archive uses compression method 12; only stored and deflated are supported.',
    ],
    [zip({ ...file('a.xml'), checksum: 1 }), 'The archive is damaged: its checksum does not match.'],
    [zip({ ...file('a.xml'), packed: Buffer.alloc(9, 0xff) }), 'The compressed file is damaged.'],
    [zip64, 'The archive is in the zip64 format.'],
    [large, 'The archive is in the zip64 format.'],
    [many, 'The archive has 101 files; at most 100 are allowed.'],
    [noLocal, 'The archive is damaged.'],
    [gzipSync(zeros), `The file of ${gzipSync(zeros).length} bytes expands to more than 1639200 bytes.`],
  ])('is refused with what is wrong with it (%#)', async (bytes, fault) => {
    expect(await unpack(bytes)).toBe(fault);
  });

  it('is refused if it is larger than allowed, packed or unpacked', async () => {
    expect(await unpack(XML, 10)).toBe(`The file has ${XML.length} bytes; at most 10 are allowed.`);
    const text = 'x'.repeat(2000);
    const packed = gzipSync(text);
    expect(await unpack(packed, 1999)).toBe(`The file of ${packed.length} bytes expands to more than 1999 bytes.`);
    expect(await unpack(packed, 2000)).toBe(text);
    const deflated = deflateRawSync(text).length;
    expect(await unpack(zip(file('a.xml', text)), 1999)).toBe(
      `The file of ${deflated} bytes expands to more than 1999 bytes.`,
    );
  });

  it('never fails with an exception, whatever was changed in an archive', async () => {
    const bytes = fc.constantFrom(gzipSync(XML), zip(file('a.xml'), file('b.json', '{}')));
    const change = fc.tuple(fc.nat(400), fc.integer({ min: 0, max: 255 }));
    await fc.assert(
      fc.asyncProperty(bytes, fc.array(change, { minLength: 1, maxLength: 4 }), async (original, changes) => {
        const damaged = Buffer.from(original);
        for (const [at, byte] of changes) damaged[at % damaged.length] = byte;
        await unpackReport(damaged, options);
      }),
      { numRuns: 300 },
    );
  });
});
