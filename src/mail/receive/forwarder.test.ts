import { expect, it } from 'vitest';
import { loopIn } from './forwarder.ts';

const deliveredTo = (value: string) => ({ name: 'Delivered-To', lower: 'delivered-to', value, raw: '' });

it.each(['a@b.example', ' <a@b.example> ', '\t<A@b.example>', 'a@b.example\r\n '])(
  'the Delivered-To %j matches the forwarding address',
  (value) => expect(loopIn([deliveredTo(value)], 'a@b.example')).toMatchObject({ reason: 'loop' }),
);

it('a Delivered-To of a megabyte of blanks is parsed in linear time', () => {
  // Hours, if it grew with the square.
  expect(loopIn([deliveredTo(`a${' '.repeat(1_000_000)}b`)], 'a@b.example')).toBeUndefined();
});
