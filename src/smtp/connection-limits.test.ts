import { expect, it } from 'vitest';
import { createConnectionLimits } from './connection-limits.ts';

it('strangers who hold all connections that they get leave some to who logs in, and the other way round', () => {
  for (const [greedy, other] of [
    ['world', 'submission'],
    ['submission', 'world'],
  ] as const) {
    const limits = createConnectionLimits({ total: 8, perAddress: 2 });
    for (let i = 0; i < 6; i++) limits.enter(`192.0.2.${i}`, greedy);
    expect(() => limits.enter('192.0.2.9', greedy)).toThrow('Too many connections');
    for (let i = 0; i < 2; i++) limits.enter(`198.51.100.${i}`, other);
    expect(() => limits.enter('198.51.100.9', other)).toThrow('Too many connections');
    limits.leave('192.0.2.0', greedy);
    limits.enter('198.51.100.9', other);
  }
});

it('one address, or one customer of IPv6, has its own limit', () => {
  const limits = createConnectionLimits({ total: 8, perAddress: 2 });
  for (const address of ['2001:db8::1', '2001:db8::2']) limits.enter(address, 'world');
  expect(() => limits.enter('2001:db8::3', 'world')).toThrow('from your address');
  limits.leave('2001:db8::1', 'world');
  limits.enter('2001:db8::3', 'world');
});
