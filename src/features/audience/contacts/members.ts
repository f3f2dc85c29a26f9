import type { Executor } from '../../../platform/db/index.ts';
import type { Filter } from '../../../protocol/contact-filter/index.ts';
import { audienceRows, countAudience } from './audience.store.ts';
import type { ContactRow } from './contacts.store.ts';

/** A page of those who meet a filter at this moment, whole, newest first. */
export const membersPage = (
  db: Executor,
  teamId: string,
  filter: Filter,
  page: { limit: number; after: string | undefined },
): Promise<ContactRow[]> => audienceRows<ContactRow>(db, teamId, { filter }, page, 'c.*');

export const countMembers = async (db: Executor, teamId: string, filter: Filter): Promise<number> =>
  (await countAudience(db, teamId, filter)).contacts;
