import { deflateSync, crc32 } from 'node:zlib';

/** Returns a complete PNG that can be drawn; `salt` changes its bytes, and `padding` makes it as large as a test wants. */
export function buildPng(width: number, height: number, { salt = '', padding = 0 } = {}): Buffer {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 0, 0, 0, 0], 8);
  const lines = Buffer.alloc(Math.min(height, 100) * (Math.min(width, 100) + 1));
  const text = Buffer.concat([Buffer.from(`Comment\0${salt}`), Buffer.alloc(padding, 'x')]);
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', head),
    chunk('tEXt', text),
    chunk('IDAT', deflateSync(lines)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function chunk(name: string, content: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(name, 'latin1'), content]);
  const out = Buffer.alloc(named.length + 8);
  out.writeUInt32BE(content.length, 0);
  named.copy(out, 4);
  out.writeUInt32BE(crc32(named), named.length + 4);
  return out;
}

export function buildGif(width: number, height: number, behind = ''): Buffer {
  const head = Buffer.from('GIF89a\0\0\0\0\0\0\0', 'latin1');
  head.writeUInt16LE(width, 6);
  head.writeUInt16LE(height, 8);
  return Buffer.concat([head, Buffer.from(behind, 'latin1'), Buffer.from(';')]);
}

/** Returns a JPEG as cameras write it: the part before the frame header has a variable length. */
export function buildJpeg(width: number, height: number): Buffer {
  const app = Buffer.from('\xff\xe1\0\x0aExif\0\0\xff\xc0', 'latin1');
  const tables = Buffer.from('\xff\xff\xc4\0\x04ab', 'latin1');
  const frame = Buffer.from('\xff\xc2\0\x0b\x08\0\0\0\0\x01\x01\x11\0', 'latin1');
  frame.writeUInt16BE(height, 5);
  frame.writeUInt16BE(width, 7);
  return Buffer.concat([Buffer.from('\xff\xd8', 'latin1'), app, tables, frame, Buffer.from('\xff\xd9', 'latin1')]);
}

const riff = (kind: string, content: Buffer): Buffer => {
  const out = Buffer.concat([Buffer.from(`RIFF\0\0\0\0WEBP${kind}\0\0\0\0`, 'latin1'), content, Buffer.alloc(10)]);
  out.writeUInt32LE(out.length - 8, 4);
  out.writeUInt32LE(out.length - 20, 16);
  return out;
};

export const webps = (width: number, height: number): Record<'lossy' | 'lossless' | 'extended', Buffer> => {
  const lossy = Buffer.from('\0\0\0\x9d\x01\x2a\0\0\0\0', 'latin1');
  lossy.writeUInt16LE(width, 6);
  lossy.writeUInt16LE(height, 8);
  const lossless = Buffer.from([0x2f, 0, 0, 0, 0]);
  lossless.writeUInt32LE((width - 1) | ((height - 1) << 14), 1);
  const extended = Buffer.alloc(10);
  extended.writeUIntLE(width - 1, 4, 3);
  extended.writeUIntLE(height - 1, 7, 3);
  return { lossy: riff('VP8 ', lossy), lossless: riff('VP8L', lossless), extended: riff('VP8X', extended) };
};
