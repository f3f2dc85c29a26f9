import { isoTime } from '../../platform/clock/index.ts';
import type { UserRow } from './users.store.ts';

export const presentUser = (row: UserRow) => ({
  object: 'user' as const,
  id: row.id,
  email: row.email,
  name: row.name,
  email_verified_at: row.email_verified_at === null ? null : isoTime(row.email_verified_at),
  created_at: isoTime(row.created_at),
});
