import { describe, expect, it } from 'vitest';
import { readProxyHeader } from './proxy-header.ts';

const signature = '0d0a0d0a000d0a515549540a';
const binary = (hex: string): Buffer => Buffer.from(signature + hex.replaceAll(' ', ''), 'hex');

const headers = [
  {
    why: 'IPv4',
    bytes: Buffer.from('PROXY TCP4 192.0.2.1 198.51.100.1 56324 25\r\n'),
    address: '192.0.2.1',
    port: 56324,
  },
  { why: 'IPv6', bytes: Buffer.from('PROXY TCP6 2001:DB8::1 ::1 1 2\r\n'), address: '2001:db8::1', port: 1 },
  { why: 'unknown', bytes: Buffer.from('PROXY UNKNOWN whatever it says\r\n'), address: undefined, port: undefined },
  { why: 'binary IPv4', bytes: binary('21 11 000c c0000201 c6336401 dc04 0019'), address: '192.0.2.1', port: 56324 },
  {
    why: 'binary IPv6 with what it knows of TLS',
    bytes: binary('21 21 0027 20010db8000000000000000000000001 20010db8000000000000000000000002 0001 0019 040000'),
    address: '2001:db8::1',
    port: 1,
  },
  { why: 'a health check', bytes: binary('20 00 0000'), address: undefined, port: undefined },
  { why: 'a UNIX socket', bytes: binary('21 31 0001 00'), address: undefined, port: undefined },
];

describe('a PROXY header', () => {
  it.each(headers)('is read with its remaining bytes left over: $why', ({ bytes, address, port }) => {
    const read = readProxyHeader(Buffer.concat([bytes, Buffer.from('EHLO me\r\n')]));
    const source = address === undefined ? undefined : { address, port };
    expect(read).toEqual({ kind: 'header', length: bytes.length, source });
  });

  it.each(headers)('waits for more bytes, wherever it is cut: $why', ({ bytes }) => {
    for (let cut = 0; cut < bytes.length; cut++) {
      expect(readProxyHeader(bytes.subarray(0, cut))).toEqual({ kind: 'more' });
    }
  });

  it.each([
    { why: 'no header', bytes: Buffer.from('EHLO me\r\n'), fault: 'it does not begin with PROXY' },
    { why: 'a wrong letter in the signature', bytes: Buffer.from('PROXT'), fault: 'it does not begin with PROXY' },
    {
      why: 'an unknown address family',
      bytes: Buffer.from('PROXY TCP5 1 2 3 4\r\n'),
      fault: 'its family is neither TCP4 nor TCP6 nor UNKNOWN',
    },
    {
      why: 'an invalid address',
      bytes: Buffer.from('PROXY TCP4 a.b 192.0.2.1 1 2\r\n'),
      fault: 'its addresses or ports are none',
    },
    {
      why: 'an address with a zone',
      bytes: Buffer.from('PROXY TCP6 fe80::1%eth0 ::1 1 2\r\n'),
      fault: 'its addresses or ports are none',
    },
    {
      why: 'a port that is too high',
      bytes: Buffer.from('PROXY TCP4 192.0.2.1 192.0.2.2 65536 2\r\n'),
      fault: 'its addresses or ports are none',
    },
    {
      why: 'additional text on the line',
      bytes: Buffer.from('PROXY TCP4 192.0.2.1 192.0.2.2 1 2 3\r\n'),
      fault: 'its addresses or ports are none',
    },
    {
      why: 'a line without end',
      bytes: Buffer.from(`PROXY UNKNOWN ${'x'.repeat(100)}`),
      fault: 'its line is too long',
    },
    { why: 'another version', bytes: binary('31 11 0000'), fault: 'its version is not 2' },
    { why: 'another command', bytes: binary('22 11 0000'), fault: 'its command is neither LOCAL nor PROXY' },
    { why: 'addresses cut off', bytes: binary('21 11 0004 c0000201'), fault: 'its addresses are cut off' },
    { why: 'a block of 60 KB', bytes: binary('21 11 f000'), fault: 'it is too long' },
  ])('is refused: $why', ({ bytes, fault }) => {
    expect(readProxyHeader(bytes)).toEqual({ kind: 'bad', fault });
  });
});
