import { expect, it } from 'vitest';
import { readTime, timeRequest } from './sntp.ts';

const mark = Buffer.from('0102030405060708', 'hex');

function answer({ first = 0x24, stratum = 2, seconds = 0, fraction = 0, of = mark } = {}): Buffer {
  const reply = Buffer.alloc(48);
  reply[0] = first;
  reply[1] = stratum;
  of.copy(reply, 24);
  reply.writeUInt32BE(seconds, 40);
  reply.writeUInt32BE(fraction, 44);
  return reply;
}

it('an SNTP request is of version 4 in client mode, with its mark as the transmit time', () => {
  const request = timeRequest(mark);
  expect(request).toHaveLength(48);
  expect(request[0]).toBe(0x23);
  expect(request.subarray(40)).toEqual(mark);
});

it.each([
  { why: '1970', seconds: 2_208_988_800, at: 0 },
  { why: 'half a second', seconds: 2_208_988_800, fraction: 2 ** 31, at: 500 },
  { why: '2026', seconds: 2_208_988_800 + 1_795_716_000, at: 1_795_716_000_000 },
  { why: 'after 2036, when the count begins anew', seconds: 1, at: (2 ** 32 - 2_208_988_800 + 1) * 1000 },
])('the time of an SNTP response is read: $why', ({ at, ...said }) => {
  expect(readTime(answer(said), mark)).toBe(at);
});

it.each([
  { why: 'an answer to somebody else', reply: answer({ seconds: 1, of: Buffer.alloc(8) }) },
  { why: 'a client', reply: answer({ seconds: 1, first: 0x23 }) },
  { why: 'a server that knows no time', reply: answer({ seconds: 1, first: 0xe4 }) },
  { why: 'a kiss of death', reply: answer({ seconds: 1, stratum: 0 }) },
  { why: 'a server that is not synchronized', reply: answer({ seconds: 1, stratum: 16 }) },
  { why: 'no time', reply: answer({}) },
  { why: 'too few bytes', reply: answer({ seconds: 1 }).subarray(0, 47) },
])('no time is read from $why', ({ reply }) => {
  expect(readTime(reply, mark)).toBeUndefined();
});
