import { describe, expect, it } from 'vitest';
import {
  isCommitFault,
  isDatabaseDamage,
  isDatabaseGone,
  isDatabaseSetback,
  isUniqueViolation,
  missingTableIn,
} from './faults.ts';

const fault = (code: string, message = '') => Object.assign(new Error(message), { code });

describe('a database setback', () => {
  it.each([
    'SQLITE_FULL',
    'SQLITE_IOERR_WRITE',
    'SQLITE_BUSY',
    'SQLITE_BUSY_SNAPSHOT',
    'SQLITE_READONLY_DBMOVED',
    'ENOSPC',
    'EDQUOT',
    'EROFS',
    'EIO',
    'ESTALE',
    'ENOTCONN',
    'EMFILE',
    'ENFILE',
    'EFBIG',
    'ECONNREFUSED',
    'ECONNRESET',
    'ETIMEDOUT',
    'ENOTFOUND',
    '08006',
    '25P03',
    '53100',
    '53300',
    '57P01',
    '40001',
    '40P01',
    '25006',
  ])('includes the code %s', (code) => expect(isDatabaseSetback(fault(code))).toBe(true));

  it.each(['SQLITE_CORRUPT', 'SQLITE_CORRUPT_INDEX', 'SQLITE_NOTADB', 'SQLITE_IOERR_READ', 'XX001', 'XX002', '58030'])(
    'includes the code %s, which is damage and does not affect other commits',
    (code) => {
      const error = fault(code);
      expect([isDatabaseDamage(error), isDatabaseSetback(error), isCommitFault(error)]).toEqual([true, true, false]);
    },
  );

  it.each([
    fault('SQLITE_ERROR', 'no such table: topics'),
    fault('SQLITE_ERROR', 'select * from "topics" - SQLITE_ERROR: no such table: main.topics'),
    fault('42P01', 'relation "topics" does not exist'),
    fault('42P01', 'Relation »topics« existiert nicht'),
    fault('42P01', 'select * from "contacts", "topics" - relation "public.topics" does not exist'),
    fault('42P01', 'la relation « topics » n’existe pas'),
  ])('includes a missing table, which is damage and is reported by its name: %s', (error) => {
    expect([isDatabaseDamage(error), isDatabaseSetback(error), isCommitFault(error)]).toEqual([true, true, false]);
    expect(missingTableIn(error)).toBe('topics');
  });

  it.each([fault('SQLITE_ERROR', 'near "selekt": syntax error'), fault('42703', 'column "x" does not exist')])(
    'does not take our own error in a statement for a missing table: %s',
    (error) => expect([missingTableIn(error), isDatabaseDamage(error)]).toEqual([undefined, false]),
  );

  it.each(['SQLITE_FULL', 'SQLITE_IOERR_FSYNC', 'SQLITE_IOERR_WRITE', 'ENOSPC', '53100', '57P01', 'ECONNREFUSED'])(
    'includes the code %s, which fails every commit and is not damage',
    (code) => expect([isDatabaseDamage(fault(code)), isCommitFault(fault(code))]).toEqual([false, true]),
  );

  it.each(['40001', '40P01', '25P03', 'MOVED', '23505', 'SQLITE_CONSTRAINT_UNIQUE'])(
    'that has the code %s affects only one transaction',
    (code) => expect([isDatabaseDamage(fault(code)), isCommitFault(fault(code))]).toEqual([false, false]),
  );

  it.each([
    fault('', 'Connection terminated unexpectedly'),
    fault('', 'Connection terminated due to connection timeout'),
    fault('', 'Query read timeout'),
    Object.assign(new Error('Knex: Timeout acquiring a connection.'), { name: 'KnexTimeoutError' }),
  ])('means that the database is gone: %s', (error) =>
    expect(isDatabaseGone(error) && isDatabaseSetback(error)).toBe(true),
  );

  it.each(['ENOENT', 'EACCES'])('includes a PostgreSQL socket that cannot be opened: %s', (code) => {
    const error = Object.assign(fault(code), { syscall: 'connect' });
    expect([isDatabaseGone(error), isDatabaseSetback(error)]).toEqual([true, true]);
  });

  it.each(['SQLITE_ERROR', 'SQLITE_CONSTRAINT_UNIQUE', '23505', '22P02', 'ENOENT', ''])(
    'does not include the code %s, which is our own fault',
    (code) => expect(isDatabaseSetback(fault(code))).toBe(false),
  );

  it.each([undefined, null, 'text', {}, new TypeError('x')])('does not include %s', (error) => {
    expect([isDatabaseSetback(error), isDatabaseGone(error), isUniqueViolation(error)]).toEqual([false, false, false]);
  });
});

it('a full disk and a lost race are retried item by item, and a database that is gone or locked is not', () => {
  for (const code of ['SQLITE_FULL', '40001', '53100']) expect(isDatabaseGone(fault(code))).toBe(false);
  for (const code of ['ECONNREFUSED', '57P03', '08001', 'SQLITE_BUSY', 'SQLITE_BUSY_SNAPSHOT'])
    expect(isDatabaseGone(fault(code))).toBe(true);
});
