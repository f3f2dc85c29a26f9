import { expect, it } from 'vitest';
import { boundedHead } from './store-message.ts';

const HEAD = { from: '', to: [], cc: [], bcc: [], replyTo: [], subject: '', messageId: '' };
const LIMITS = { subjectChars: 3, textChars: 30, listChars: 50, signatures: 1 };
const NAME = 'n'.repeat(30);

it.each([
  ['Somebody <some@example.org>', 'Somebody <some@example.org>'],
  [`${NAME} <some@example.org>`, 'some@example.org'],
  [String.raw`"${NAME} <a@b.example> \"" <"so<me"@example.org>`, '"so<me"@example.org'],
  [`${NAME}@example.org`, ''],
  [`"${NAME} <some@example.org>"`, ''],
])('the sender %s is stored as %s', (from, kept) => expect(boundedHead({ ...HEAD, from }, LIMITS).from).toBe(kept));

it('a list of addresses is stored up to the first address that exceeds the limit', () => {
  const to = ['a@example.org', NAME, 'b@example.org'];
  const cc = ['c@example.org', 'd@example.org'];
  expect(boundedHead({ ...HEAD, to, cc }, LIMITS)).toMatchObject({ to: ['a@example.org', NAME], cc: [] });
});

it('truncation never splits a character', () => {
  expect(boundedHead({ ...HEAD, subject: 'ab😀' }, LIMITS).subject).toBe('ab');
  expect(boundedHead({ ...HEAD, subject: 'a😀b' }, LIMITS).subject).toBe('a😀');
});
