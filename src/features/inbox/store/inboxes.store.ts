import {
  cutPage,
  pageSql,
  pageValues,
  textsIn,
  uuidsIn,
  type Executor,
  type Page,
} from '../../../platform/db/index.ts';
import { isUuid } from '../../../platform/ids.ts';
import { normalizeAddress } from '../../../protocol/address/index.ts';
import type { InboxRow, LabelRow } from './rows.ts';

const COLUMNS = [
  'id',
  'team_id',
  'domain_id',
  'address',
  'address_key',
  'receiving_address',
  'name',
  'from_name',
  'channel',
  'signature',
  'thread_by_subject',
  'agent_instructions',
  'agent_tone',
  'agent_actions',
  'last_received_at',
  'created_at',
  'updated_at',
] as const;
const LIVE = 'team_id = ? and deleted_at is null';

export type NewInbox = Omit<InboxRow, 'deleted_at'>;

export async function insertInbox(tx: Executor, row: NewInbox): Promise<void> {
  await tx.insertMany('inboxes', COLUMNS, [COLUMNS.map((column) => row[column])]);
}

/** Finds an inbox by id or address. */
export const findInbox = (db: Executor, teamId: string, named: string): Promise<InboxRow | undefined> =>
  isUuid(named)
    ? db.get<InboxRow>(`select * from inboxes where ${LIVE} and id = ?`, [teamId, named.toLowerCase()])
    : db.get<InboxRow>(`select * from inboxes where ${LIVE} and address_key = ?`, [teamId, normalizeAddress(named)]);

/** Finds an inbox by id and locks it until the end of the transaction. */
export function lockInbox(tx: Executor, teamId: string, id: string): Promise<InboxRow | undefined> {
  const lock = tx.dialect === 'pg' ? 'for update' : '';
  return tx.get<InboxRow>(`select * from inboxes where ${LIVE} and id = ? ${lock}`, [teamId, id]);
}

export async function countInboxes(db: Executor, teamId: string): Promise<number> {
  return Number((await db.get<{ n: number }>(`select count(*) as n from inboxes where ${LIVE}`, [teamId]))?.n ?? 0);
}

/** Returns one page of all inboxes, or of the open ones only. */
export async function listInboxRows(
  db: Executor,
  teamId: string,
  { onlyOpen, ...page }: Page & { onlyOpen: boolean },
): Promise<{ rows: InboxRow[]; hasMore: boolean }> {
  const where = onlyOpen ? `${LIVE} and channel = 'open'` : LIVE;
  return cutPage(await db.all<InboxRow>(pageSql('inboxes', where, page), [teamId, ...pageValues(page)]), page);
}

/** Lists the inboxes except personal ones, oldest first. */
export const channelRows = (db: Executor, teamId: string): Promise<InboxRow[]> =>
  db.all<InboxRow>(`select * from inboxes where ${LIVE} and channel <> 'personal' order by id`, [teamId]);

/** Lists the inboxes that mail to these addresses goes to; the addresses are normalized. */
export function inboxesAt(db: Executor, teamId: string, keys: readonly string[]): Promise<InboxRow[]> {
  const own = textsIn(db.dialect, 'address_key', keys);
  const forwarded = textsIn(db.dialect, 'receiving_address', keys);
  return db.all<InboxRow>(
    `select * from inboxes where ${LIVE} and ${own.sql} union
      select * from inboxes where ${LIVE} and receiving_address is not null and ${forwarded.sql}`,
    [teamId, own.value, teamId, forwarded.value],
  );
}

export type InboxChange = Partial<
  Pick<
    InboxRow,
    | 'name'
    | 'from_name'
    | 'channel'
    | 'signature'
    | 'thread_by_subject'
    | 'agent_instructions'
    | 'agent_tone'
    | 'agent_actions'
  >
>;

export async function updateInboxRow(tx: Executor, id: string, change: InboxChange, at: number): Promise<void> {
  const fields = Object.keys(change) as (keyof InboxChange)[];
  const set = [...fields, 'updated_at'].map((field) => `${field} = ?`).join(', ');
  const values = fields.map((field) => change[field] ?? null);
  await tx.run(`update inboxes set ${set} where id = ?`, [...values, at, id]);
}

/**
 * Records the time of received mail; returns whether the inbox exists, which stays so until the end of the transaction.
 */
export const noteReceived = async (tx: Executor, inboxId: string, at: number): Promise<boolean> =>
  (await tx.run(
    `update inboxes set last_received_at = case when coalesce(last_received_at, 0) < ? then ? else last_received_at end
      where id = ? and deleted_at is null`,
    [at, at, inboxId],
  )) === 1;

/** Marks an inbox as deleted; returns whether this call did so. */
export const markInboxDeleted = async (tx: Executor, teamId: string, id: string, at: number): Promise<boolean> =>
  (await tx.run(`update inboxes set deleted_at = ? where ${LIVE} and id = ?`, [at, teamId, id])) === 1;

export const inboxesOfDomain = (db: Executor, domainId: string): Promise<InboxRow[]> =>
  db.all<InboxRow>('select * from inboxes where domain_id = ? and deleted_at is null order by id', [domainId]);

/** Counts the unread threads in the folder inbox, by inbox. */
export async function unreadIn(db: Executor, inboxIds: readonly string[]): Promise<Map<string, number>> {
  const among = uuidsIn(db.dialect, 'inbox_id', inboxIds);
  const rows = await db.all<{ inbox_id: string; n: number }>(
    `select inbox_id, count(*) as n from inbox_threads where ${among.sql} and is_read = 0 and folder = 'inbox'
      group by inbox_id`,
    [among.value],
  );
  return new Map(rows.map(({ inbox_id: id, n }) => [id, Number(n)]));
}

export async function draftsIn(db: Executor, inboxId: string): Promise<number> {
  const sql = 'select count(*) as n from inbox_drafts where inbox_id = ? and email_id is null';
  return Number((await db.get<{ n: number }>(sql, [inboxId]))?.n ?? 0);
}

const LIVE_LABEL = 'inbox_id = ? and deleted_at is null';
const LABEL_COLUMNS = ['id', 'inbox_id', 'name', 'name_key', 'color', 'created_at'] as const;

export async function insertLabel(tx: Executor, row: LabelRow): Promise<void> {
  await tx.insertMany('inbox_labels', LABEL_COLUMNS, [LABEL_COLUMNS.map((column) => row[column])]);
}

/** Lists the labels of an inbox by name. */
export const listLabels = (db: Executor, inboxId: string): Promise<LabelRow[]> =>
  db.all<LabelRow>(`select ${LABEL_COLUMNS.join(', ')} from inbox_labels where ${LIVE_LABEL} order by name_key, id`, [
    inboxId,
  ]);

/** Changes a label; returns whether it exists. */
export async function updateLabelRow(
  tx: Executor,
  inboxId: string,
  id: string,
  change: Partial<Pick<LabelRow, 'name' | 'name_key' | 'color'>>,
): Promise<boolean> {
  const fields = Object.keys(change) as (keyof typeof change)[];
  const set = fields.map((field) => `${field} = ?`).join(', ');
  const values = fields.map((field) => change[field] ?? null);
  return (
    (await tx.run(`update inbox_labels set ${set} where ${LIVE_LABEL} and id = ?`, [...values, inboxId, id])) === 1
  );
}

/** Marks a label as deleted; returns whether this call did so. Threads lose it later. */
export const markLabelDeleted = async (tx: Executor, inboxId: string, id: string, at: number): Promise<boolean> =>
  (await tx.run(`update inbox_labels set deleted_at = ? where ${LIVE_LABEL} and id = ?`, [at, inboxId, id])) === 1;
