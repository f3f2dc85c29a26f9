/** Image types that mail programs show. SVG is excluded, because it is a document that may run code. */
export const IMAGE_TYPES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'] as const;
export type ImageType = (typeof IMAGE_TYPES)[number];

export interface ImageHead {
  type: ImageType;
  width: number;
  height: number;
}

type Size = Pick<ImageHead, 'width' | 'height'>;

/** `unknown`: no known type begins like this. `cut`: it begins as this type does, but its size cannot be read. */
type Fault = { fault: 'unknown' } | { fault: 'cut'; type: ImageType };

const ascii = (bytes: Buffer, start: number, end: number): string => bytes.toString('latin1', start, end);

const KINDS: readonly {
  type: ImageType;
  begins: (bytes: Buffer) => boolean;
  size: (bytes: Buffer) => Size | undefined;
}[] = [
  { type: 'image/png', begins: (bytes) => ascii(bytes, 0, 8) === '\x89PNG\r\n\x1a\n', size: sizeOfPng },
  { type: 'image/jpeg', begins: (bytes) => ascii(bytes, 0, 3) === '\xff\xd8\xff', size: sizeOfJpeg },
  { type: 'image/gif', begins: (bytes) => /^GIF8[79]a/.test(ascii(bytes, 0, 6)), size: sizeOfGif },
  {
    type: 'image/webp',
    begins: (bytes) => ascii(bytes, 0, 4) === 'RIFF' && ascii(bytes, 8, 12) === 'WEBP',
    size: sizeOfWebp,
  },
];

/** Determines the type and size of an image from its own bytes; its name and declared type are ignored. */
export function readImageHead(content: Uint8Array): ImageHead | Fault {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.length);
  const kind = KINDS.find(({ begins }) => begins(bytes));
  if (!kind) return { fault: 'unknown' };
  const size = kind.size(bytes);
  if (!size || size.width === 0 || size.height === 0) return { fault: 'cut', type: kind.type };
  return { type: kind.type, ...size };
}

/** PNG (third edition) §11.2.1: IHDR is the first chunk and has 13 bytes. */
function sizeOfPng(bytes: Buffer): Size | undefined {
  if (bytes.length < 33 || bytes.readUInt32BE(8) !== 13 || ascii(bytes, 12, 16) !== 'IHDR') return undefined;
  return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
}

/** ITU-T T.81 §B.1.1.3: markers without a length. */
const isBare = (marker: number): boolean => marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8);
/**
 * §B.2.2: a frame header contains the size; DHT, JPG and DAC are in the same range of codes but are not frame headers.
 */
const isFrame = (marker: number): boolean =>
  marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
const END_OF_IMAGE = 0xd9;
const START_OF_SCAN = 0xda;

/** Walks the segments up to the frame header, which comes before any image data. */
function sizeOfJpeg(bytes: Buffer): Size | undefined {
  let at = 2;
  while (at + 4 <= bytes.length) {
    if (bytes[at] !== 0xff) return undefined;
    const marker = bytes[at + 1] ?? 0;
    // §B.1.1.2: any number of fill bytes may stand before a marker.
    if (marker === 0xff) at += 1;
    else if (isBare(marker)) at += 2;
    else if (marker === END_OF_IMAGE || marker === START_OF_SCAN) return undefined;
    else {
      const length = bytes.readUInt16BE(at + 2);
      if (length < 2) return undefined;
      if (isFrame(marker)) {
        if (length < 8 || at + 9 > bytes.length) return undefined;
        return { height: bytes.readUInt16BE(at + 5), width: bytes.readUInt16BE(at + 7) };
      }
      at += 2 + length;
    }
  }
  return undefined;
}

/** GIF89a §18: the logical screen. */
function sizeOfGif(bytes: Buffer): Size | undefined {
  return bytes.length < 13 ? undefined : { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) };
}

/** RFC 9649 §2.5 to §2.7: lossy, lossless, and the extended form, whose canvas has 24 bits a side. */
function sizeOfWebp(bytes: Buffer): Size | undefined {
  if (bytes.length < 30) return undefined;
  switch (ascii(bytes, 12, 16)) {
    case 'VP8 ':
      // RFC 6386 §9.1: the start code of a key frame, then 14 bits for each side.
      if (ascii(bytes, 23, 26) !== '\x9d\x01\x2a') return undefined;
      return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff };
    case 'VP8L': {
      if (bytes[20] !== 0x2f) return undefined;
      const bits = bytes.readUInt32LE(21);
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
    }
    case 'VP8X':
      return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 };
    default:
      return undefined;
  }
}
