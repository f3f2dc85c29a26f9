import { expect, it } from 'vitest';
import { SocksHandshake } from './socks5.ts';

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');
const start = (address = '192.0.2.25', login?: { user: string; password: string }) =>
  new SocksHandshake({ address, port: 25 }, login);

it('a proxy without a login is asked for a connection to an IPv4 address', () => {
  const handshake = start();
  expect(handshake.greet()).toEqual(hex('05 01 00'));
  expect(handshake.push(hex('05 00'))).toEqual({ kind: 'send', bytes: hex('05 01 00 01 c0000219 0019') });
  expect(handshake.push(hex('05 00 00 01 0a000001 8000'))).toEqual({
    kind: 'open',
    boundAddress: '10.0.0.1',
    rest: Buffer.alloc(0),
  });
});

it.each([
  ['2001:db8::19', '20010db8000000000000000000000019'],
  ['::1', '00000000000000000000000000000001'],
  ['2001:db8::', '20010db8000000000000000000000000'],
  ['::ffff:192.0.2.1', '00000000000000000000ffffc0000201'],
])('the IPv6 address %s is sent in 16 bytes', (address, bytes) => {
  const handshake = start(address);
  expect(handshake.push(hex('05 00'))).toEqual({ kind: 'send', bytes: hex(`05 01 00 04 ${bytes} 0019`) });
});

it('the login is sent if the proxy asks for one', () => {
  const handshake = start('192.0.2.25', { user: 'mail', password: 'secret' });
  expect(handshake.greet()).toEqual(hex('05 02 00 02'));
  expect(handshake.push(hex('05 02'))).toEqual({ kind: 'send', bytes: hex('01 04 6d61696c 06 736563726574') });
  expect(handshake.push(hex('01 00'))).toMatchObject({ kind: 'send' });
});

it('replies may arrive byte by byte, and what the mail server sent behind the last one is kept', () => {
  const handshake = start();
  const steps = [...hex(`05 00 05 00 00 01 0a000001 8000`)].map((byte) => handshake.push(Buffer.from([byte])).kind);
  expect(steps).toEqual(['wait', 'send', ...Array<string>(9).fill('wait'), 'open']);
  const other = start();
  other.push(hex('05 00'));
  const step = other.push(Buffer.concat([hex('05 00 00 03 02 6d78 0000'), Buffer.from('220 mx')]));
  expect(step).toEqual({ kind: 'open', boundAddress: 'mx', rest: Buffer.from('220 mx') });
});

it.each([
  ['another protocol', 'HTTP/1.1 400 Bad', 'it is no SOCKS5 proxy'],
  ['no common method', '\x05\xff', 'it requires another way to log in'],
  ['a refused connection', '\x05\x00|\x05\x05\x00\x01', 'the connection was refused'],
  ['a rule against it', '\x05\x00|\x05\x02', 'it does not allow the connection'],
  ['an unknown reply', '\x05\x00|\x05\x63', 'it answered with 99'],
  ['an address of an unknown kind', '\x05\x00|\x05\x00\x00\x09\x00\x00', 'it sent no SOCKS5 reply'],
])('a handshake with %s fails', (_, sent, detail) => {
  const handshake = start();
  const steps = sent.split('|').map((part) => handshake.push(Buffer.from(part, 'latin1')));
  expect(steps.at(-1)).toMatchObject({ kind: 'failed', detail });
});

it.each([
  [3, false],
  [4, false],
  [5, false],
  [6, false],
  [1, true],
  [2, true],
  [8, true],
])('the reply %i is about the proxy and not the target: %s', (reply, isOfProxy) => {
  const handshake = start();
  handshake.push(hex('05 00'));
  expect(handshake.push(Buffer.from([5, reply]))).toMatchObject({ kind: 'failed', isOfProxy });
});

it('a handshake with a wrong password fails', () => {
  const handshake = start('192.0.2.25', { user: 'mail', password: 'wrong' });
  handshake.push(hex('05 02'));
  expect(handshake.push(hex('01 01'))).toEqual({
    kind: 'failed',
    detail: 'it does not accept the login',
    isOfProxy: true,
  });
});
