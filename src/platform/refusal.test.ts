import { expect, it } from 'vitest';
import { invalidFields, notFound, Refusal, refuse } from './refusal.ts';

it('has the status of the catalogue, and one of several only when it is said', () => {
  expect(refuse('not_found', { say: 'x' }).status).toBe(404);
  expect(refuse('validation_error', { status: 422, say: 'x' }).status).toBe(422);
  expect(refuse('restricted_api_key', { status: 403, say: 'x' }).status).toBe(403);
});

it('a status the catalogue does not have under this name is our own mistake', () => {
  expect(() => refuse('not_found', { status: 410, say: 'x' })).toThrow(
    'the catalogue has no not_found with status 410',
  );
});

it('keeps what the caller reads apart from the cause', () => {
  const cause = new Error('SQLITE_BUSY');
  const refusal = refuse('resource_locked', { say: 'It is locked.', because: cause });
  expect(refusal).toBeInstanceOf(Refusal);
  expect(refusal.message).toBe('It is locked.');
  expect(refusal.cause).toBe(cause);
  expect(refuse('not_found', { say: 'x' }).cause).toBeUndefined();
});

it('names the first field at fault and counts the others', () => {
  const errors = ['a', 'b', 'c'].map((path) => ({ path, message: `${path} is wrong.` }));
  const refusal = invalidFields(errors);
  expect([refusal.status, refusal.message, refusal.errors]).toEqual([400, 'a is wrong. (and 2 more)', errors]);
  expect(invalidFields(errors.slice(0, 1)).message).toBe('a is wrong.');
});

it('what is missing and what is foreign are told in the same words', () => {
  expect(notFound('Domain').message).toBe('Domain not found.');
});
