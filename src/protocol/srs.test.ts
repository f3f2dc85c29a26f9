import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { splitAddress } from './address/index.ts';
import { reverseSrs, rewriteSender, SRS_DAYS } from './srs.ts';

const mac = (bytes: Buffer): Buffer => createHmac('sha256', 'instance key').update(bytes).digest();
const other = (bytes: Buffer): Buffer => createHmac('sha256', 'another key').update(bytes).digest();
const NOW = Date.UTC(2026, 10, 22);
const DAY = 86_400_000;
const OURS = 'send.example.com';

const readLocal = (address: string | undefined): string => splitAddress(address ?? '')?.local ?? '';
const back = (local: string, { now = NOW, macs = [mac], domain = OURS } = {}) =>
  reverseSrs(local, domain, { now, macs });

test('every rewritten sender that fits can be restored', () => {
  const sender = fc
    .tuple(fc.stringMatching(/^[a-z][a-z0-9+._=-]{0,20}[a-z0-9]$/), fc.stringMatching(/^[a-z]{1,12}\.[a-z]{2,4}$/))
    .map(([local, domain]) => `${local}@${domain}`);
  fc.assert(
    fc.property(sender, fc.nat(4000), (given, day) => {
      const now = day * DAY;
      const rewritten = rewriteSender(given, OURS, { now, mac });
      if (rewritten === undefined) return;
      expect(readLocal(rewritten).length).toBeLessThanOrEqual(64);
      expect(back(readLocal(rewritten), { now })).toEqual({ kind: 'sender', sender: given });
      expect(back(readLocal(rewritten).toUpperCase(), { now })).toMatchObject({ kind: 'sender' });
      expect(back(readLocal(rewritten), { now: now + SRS_DAYS * DAY })).toMatchObject({ kind: 'sender' });
      expect(back(readLocal(rewritten), { now: now + (SRS_DAYS + 1) * DAY })).toEqual({ kind: 'expired' });
    }),
  );
});

test('a sender that others have rewritten grows only once, and its bounces go back to the first rewriter', () => {
  const first = 'SRS0=abcd=ZZ=origin.example=someone@first.example';
  const second = rewriteSender(first, OURS, { now: NOW, mac });
  expect(second).toMatch(/^SRS1=[0-9a-v]{6}=first\.example==abcd=ZZ=origin\.example=someone@send\.example\.com$/);
  expect(back(readLocal(second))).toEqual({ kind: 'sender', sender: first });
  const third = rewriteSender(second ?? '', 'out.example.net', { now: NOW, mac });
  expect(third).toMatch(/^SRS1=[0-9a-v]{6}=first\.example==abcd=ZZ=origin\.example=someone@out\.example\.net$/);
  expect(back(readLocal(third), { domain: 'out.example.net' })).toEqual({ kind: 'sender', sender: first });
});

test('a rewritten sender of another key, another domain or a third party is forged', () => {
  const local = readLocal(rewriteSender('someone@example.org', OURS, { now: NOW, mac }));
  expect(back(local, { macs: [other] })).toEqual({ kind: 'forged' });
  expect(back(local, { macs: [other, mac] })).toMatchObject({ kind: 'sender' });
  expect(back(local, { domain: 'send.example.net' })).toEqual({ kind: 'forged' });
  expect(back(local.replace('someone', 'victim'))).toEqual({ kind: 'forged' });
  expect(back('SRS1=000000=example.org==x')).toEqual({ kind: 'forged' });
});

test.each(['support', 'SRS0', 'SRS0=abc', 'SRS2=000000=x', 'srs0+000000=x'])(
  '%j is not one of our rewritten addresses',
  (local) => {
    expect(back(local)).toBeUndefined();
  },
);

test('a sender that would not fit or has to be quoted is not rewritten', () => {
  expect(rewriteSender(`${'x'.repeat(50)}@example.org`, OURS, { now: NOW, mac })).toBeUndefined();
  expect(rewriteSender('"a b"@example.org', OURS, { now: NOW, mac })).toBeUndefined();
});
