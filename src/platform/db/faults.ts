/** Both databases name a broken unique constraint in their own way. */
export function isUniqueViolation(error: unknown): boolean {
  const code = codeOf(error);
  if (code === '23505' || code === 'SQLITE_CONSTRAINT_UNIQUE' || code === 'SQLITE_CONSTRAINT_PRIMARYKEY') return true;
  return error instanceof Error && error.message.includes('UNIQUE constraint failed');
}

/** A full disk, a lost connection, a lock held too long: the world's fault, worth another try later. */
export function isDatabaseSetback(error: unknown): boolean {
  const code = codeOf(error);
  return SETBACK_CODES.some((setback) => code.startsWith(setback));
}

const SETBACK_CODES = [
  'SQLITE_FULL',
  'SQLITE_IOERR',
  'SQLITE_BUSY',
  'SQLITE_READONLY',
  'SQLITE_CANTOPEN',
  'ENOSPC',
  'EDQUOT',
  'EROFS',
  'ECONNREFUSED',
  'ECONNRESET',
  // PostgreSQL: connection lost, out of resources, shutting down, serialisation and deadlock.
  '08',
  '53',
  '57P',
  '40',
];

const codeOf = (error: unknown): string => String((error as { code?: unknown } | null)?.code ?? '');
