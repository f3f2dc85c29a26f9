import { expect, it } from 'vitest';
import { Refusal } from '../refusal/index.ts';
import { hashPassword, isPassword } from './index.ts';

it('a password is found again, in whatever form of Unicode it is typed, and no other is', async () => {
  const hash = await hashPassword('grün\u00e9');
  expect(hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w+/]{22}\$[\w+/]{43}$/);
  expect(await isPassword('grüne\u0301', hash)).toBe(true);
  expect(await isPassword('Grün\u00e9', hash)).toBe(false);
  expect(await isPassword('grün\u00e9', null)).toBe(false);
  expect(await hashPassword('grün\u00e9')).not.toBe(hash);
});

it('of ten thousand at once a bounded number is worked on, and the rest refused at once', async () => {
  const long = 'x'.repeat(4096);
  const before = process.memoryUsage().rss;
  const tries = await Promise.allSettled(Array.from({ length: 10_000 }, () => isPassword(long, null)));
  const refused = tries.filter((one) => one.status === 'rejected');
  expect(tries.length - refused.length).toBe(202);
  for (const { reason } of refused) expect(reason).toBeInstanceOf(Refusal);
  // Two at a time take 38 MiB; all of them together would take 190 GB.
  expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1024 * 1024);
  expect(await isPassword(long, await hashPassword(long))).toBe(true);
});
