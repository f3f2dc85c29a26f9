import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { preferenceToken, readPreferenceToken, type LinkKeys, type PreferenceLink } from './preference-links.ts';

const createKeys = (secret: string): LinkKeys => ({
  tag: (bytes) => createHmac('sha256', `${secret} tag`).update(bytes).digest(),
  cover: (bytes) => createHmac('sha256', `${secret} cover`).update(bytes).digest(),
});
const keys = createKeys('a');

const uuid = fc.uuid();
const links: fc.Arbitrary<PreferenceLink> = fc.record({
  kind: fc.constantFrom('choice' as const, 'confirmation' as const),
  teamId: uuid,
  contactId: uuid,
  emailKey: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 254 }),
  topicId: fc.option(uuid),
  emailId: fc.option(uuid),
});

it('a preference token can be read back with its key, and not with another key', () => {
  fc.assert(
    fc.property(links, (link) => {
      const token = preferenceToken(link, keys);
      expect(readPreferenceToken(token, keys)).toEqual(link);
      expect(preferenceToken(link, keys)).toBe(token);
      expect(readPreferenceToken(token, createKeys('b'))).toBeUndefined();
    }),
  );
});

const link: PreferenceLink = {
  kind: 'choice',
  topicId: null,
  emailId: null,
  emailKey: 'ada@example.org',
  teamId: '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e30',
  contactId: '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e31',
};

it('a preference token with a changed bit, cut short or in another spelling is refused', () => {
  const token = preferenceToken(link, keys);
  const bytes = Buffer.from(token, 'base64url');
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const changed = Buffer.from(bytes);
    changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    expect(readPreferenceToken(changed.toString('base64url'), keys)).toBeUndefined();
  }
  for (let length = 0; length < token.length; length++) {
    expect(readPreferenceToken(token.slice(0, length), keys)).toBeUndefined();
  }
  for (const other of [`${token}=`, ` ${token}`, `${token}AAAA`, bytes.toString('base64')]) {
    if (other !== token) expect(readPreferenceToken(other, keys)).toBeUndefined();
  }
});

it('a preference token reveals neither the address nor which links belong to one contact', () => {
  const one = Buffer.from(preferenceToken(link, keys), 'base64url');
  const two = Buffer.from(preferenceToken({ ...link, kind: 'confirmation' }, keys), 'base64url');
  expect(one.toString('latin1')).not.toContain('ada');
  const alike = [...one].filter((byte, i) => byte === two[i]).length;
  expect(alike).toBeLessThan(8);
});
