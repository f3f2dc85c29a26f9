import { expect, it } from 'vitest';
import { Refusal } from '../refusal.ts';
import { createPasswords } from './index.ts';

it('a password matches in any Unicode form in which it is typed, and no other password does', async () => {
  const { hash, matches } = createPasswords();
  const hashed = await hash('grün\u00e9');
  expect(hashed).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w+/]{22}\$[\w+/]{43}$/);
  expect(await matches('grüne\u0301', hashed)).toBe(true);
  expect(await matches('Grün\u00e9', hashed)).toBe(false);
  expect(await matches('grün\u00e9', null)).toBe(false);
  expect(await hash('grün\u00e9')).not.toBe(hashed);
});

it('a bounded number of ten thousand concurrent passwords is hashed, and the others are refused at once', async () => {
  // Even with a sixteenth of the memory and half of the passes, all of them together would take 12 GB.
  const { hash, matches } = createPasswords({ memory: 1216, passes: 1 });
  const long = 'x'.repeat(4096);
  const before = process.memoryUsage().rss;
  const tries = await Promise.allSettled(Array.from({ length: 10_000 }, () => matches(long, null)));
  const refused = tries.filter((one) => one.status === 'rejected');
  // The first one may or may not start at once, depending on what was hashed before.
  expect([40, 41]).toContain(tries.length - refused.length);
  for (const { reason } of refused) expect(reason).toBeInstanceOf(Refusal);
  expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1024 * 1024);
  expect(await matches(long, await hash(long))).toBe(true);
});

it('a stored password is checked at the cost that its hash names, whatever a new one costs', async () => {
  const cheap = createPasswords({ memory: 8, passes: 1 });
  expect(await createPasswords().matches('correct', await cheap.hash('correct'))).toBe(true);
  expect(await cheap.matches('correct', await createPasswords().hash('correct'))).toBe(true);
});

it('a flood of new passwords neither blocks nor delays people who sign in', async () => {
  const { hash, matches } = createPasswords({ memory: 1216, passes: 1 });
  const kept = await hash('correct');
  let hashed = 0;
  const flood = Promise.allSettled(Array.from({ length: 100 }, () => hash('new').then(() => hashed++)));
  expect(await matches('correct', kept)).toBe(true);
  // One is in progress, and one has its turn before these.
  expect(hashed).toBeLessThanOrEqual(2);
  const refused = (await flood).flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
  expect([59, 60]).toContain(refused.length);
  for (const reason of refused)
    expect(reason).toMatchObject({ errorName: 'service_unavailable', retryAfterSeconds: 5 });
});
