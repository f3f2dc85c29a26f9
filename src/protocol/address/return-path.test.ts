import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatReturnPath, isGenuineReturnPath, parseReturnPath, splitAddress } from './index.ts';
import type { ReturnPath } from './index.ts';

const mac = (bytes: Buffer): Buffer => createHmac('sha256', 'instance key').update(bytes).digest();
const emailId = '0192f0c1-2b3c-7d4e-8f50-123456789abc';

const parsed = (address: string): ReturnPath => {
  const path = parseReturnPath(splitAddress(address)?.local ?? '');
  if (!path) throw new Error(`no return path: ${address}`);
  return path;
};

test('every email id can be read back from its return path, which fits a local part', () => {
  fc.assert(
    fc.property(fc.uuid(), fc.stringMatching(/^[a-z]([a-z0-9-]{0,24}[a-z0-9])?$/), (id, prefix) => {
      const address = formatReturnPath({ prefix, emailId: id, domain: 'send.example.com', mac });
      expect((splitAddress(address)?.local ?? '').length).toBeLessThanOrEqual(64);
      const path = parsed(address);
      expect(path).toMatchObject({ prefix, emailId: id });
      expect(isGenuineReturnPath(path, mac)).toBe(true);
    }),
  );
});

test('a receiver may change the letter case of the local part', () => {
  const address = formatReturnPath({ prefix: 'bounce', emailId, domain: 'send.example.com', mac });
  expect(isGenuineReturnPath(parsed(address.toUpperCase()), mac)).toBe(true);
});

test('a return path for another email, prefix or key is not genuine', () => {
  const path = parsed(formatReturnPath({ prefix: 'bounce', emailId, domain: 'send.example.com', mac }));
  expect(isGenuineReturnPath({ ...path, emailId: emailId.replace('a', 'b') }, mac)).toBe(false);
  expect(isGenuineReturnPath({ ...path, prefix: 'feedback' }, mac)).toBe(false);
  expect(isGenuineReturnPath({ ...path, mac: '0000000000' }, mac)).toBe(false);
  expect(isGenuineReturnPath(path, (bytes) => createHmac('sha256', 'other').update(bytes).digest())).toBe(false);
});

test.each([
  ['', 'nothing'],
  ['bounce', 'no id'],
  ['bounce-00000000000000000000000000-000000000', 'a short MAC'],
  ['bounce-0000000000000000000000000w-0000000000', 'a letter outside the alphabet'],
  ['bounce-00000000000000000000000001-0000000000', 'a second spelling of an id'],
  ['-00000000000000000000000000-0000000000', 'no prefix'],
])('%j is not a return path: %s', (local) => {
  expect(parseReturnPath(local)).toBeUndefined();
});

test('a prefix that would overflow the local part is a programming error', () => {
  expect(() => formatReturnPath({ prefix: 'a'.repeat(27), emailId, domain: 'b.c', mac })).toThrow(/1-26/);
  expect(() => formatReturnPath({ prefix: 'b', emailId: 'x', domain: 'b.c', mac })).toThrow(/UUID/);
});
