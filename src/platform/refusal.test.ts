import { expect, it } from 'vitest';
import { invalidFields, notFound, Refusal, refuse } from './refusal.ts';

it('a refusal has the status of the catalog, and one of several only when it is given', () => {
  expect(refuse('not_found', { say: 'x' }).status).toBe(404);
  expect(refuse('validation_error', { status: 422, say: 'x' }).status).toBe(422);
  expect(refuse('restricted_api_key', { status: 403, say: 'x' }).status).toBe(403);
});

it('a refusal with a status that the catalog does not list under its name is a programming error', () => {
  expect(() => refuse('not_found', { status: 410, say: 'x' })).toThrow('the catalog has no not_found with status 410');
});

it('a refusal keeps the message for the caller apart from the cause', () => {
  const cause = new Error('SQLITE_BUSY');
  const refusal = refuse('resource_locked', { say: 'It is locked.', because: cause });
  expect(refusal).toBeInstanceOf(Refusal);
  expect(refusal.message).toBe('It is locked.');
  expect(refusal.cause).toBe(cause);
  expect(refuse('not_found', { say: 'x' }).cause).toBeUndefined();
});

it('a refusal names the first invalid field and counts the others', () => {
  const errors = ['a', 'b', 'c'].map((path) => ({ path, message: `${path} is wrong.` }));
  const refusal = invalidFields(errors);
  expect([refusal.status, refusal.message, refusal.errors]).toEqual([400, 'a is wrong. (and 2 more)', errors]);
  expect(invalidFields(errors.slice(0, 1)).message).toBe('a is wrong.');
});

it('a missing object and one of another team are refused with the same words', () => {
  expect(notFound('Domain').message).toBe('Domain not found.');
});
