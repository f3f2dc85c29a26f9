import { describe, expect, it } from 'vitest';
import { encodeText } from '../mime/index.ts';
import { decodeText } from './decode-text.ts';

describe('a text part', () => {
  it.each([
    { encoding: '', charset: '', bytes: Buffer.from('Grüße'), text: 'Grüße' },
    { encoding: '8bit', charset: 'iso-8859-1', bytes: Buffer.from('Grüße', 'latin1'), text: 'Grüße' },
    {
      encoding: 'quoted-printable',
      charset: 'utf-8',
      bytes: Buffer.from('Gr=C3=BC=C3=9Fe =\r\nall  \r\n= 3D=ZZ'),
      text: 'Grüße all\r\n= 3D=ZZ',
    },
    { encoding: 'quoted-printable', charset: 'windows-1252', bytes: Buffer.from('=80'), text: '€' },
    { encoding: 'base64', charset: 'utf-8', bytes: Buffer.from('R3LD\r\nvMOfZQ=='), text: 'Grüße' },
    { encoding: '', charset: 'shift_jis', bytes: Buffer.from([0x93, 0xfa]), text: '日' },
    { encoding: '', charset: 'nobody-knows', bytes: Buffer.from('Grüße'), text: 'Grüße' },
    { encoding: '', charset: 'nobody-knows', bytes: Buffer.from('Grüße', 'latin1'), text: 'Grüße' },
    { encoding: '', charset: 'utf-8', bytes: Buffer.from([0xff]), text: '\ufffd' },
  ])('in $encoding and $charset is decoded', ({ bytes, text, ...how }) => {
    expect(decodeText(bytes, how)).toBe(text);
  });

  it.each(['plain', 'ünïcödé '.repeat(40), '日本語'.repeat(100), 'From here\n.\n  x \t'])(
    'that our composer wrote is decoded',
    (text) => {
      const { encoding, content } = encodeText(text);
      expect(decodeText(content, { encoding, charset: 'utf-8' })).toBe(text.replaceAll('\n', '\r\n'));
    },
  );
});
