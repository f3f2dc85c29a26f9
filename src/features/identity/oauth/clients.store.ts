import { cutPage, pageSql, pageValues, type Executor, type Page } from '../../../platform/db/index.ts';

export interface ClientRow {
  id: string | null;
  client_id: string;
  registration_hash: string;
  name: string;
  redirect_uris: string;
  grant_types: string;
  scope: string | null;
  client_uri: string | null;
  logo_uri: string | null;
  software_id: string | null;
  software_version: string | null;
  address_hash: string;
  created_at: number;
  disabled_at: number | null;
}

const METADATA = [
  'name',
  'redirect_uris',
  'grant_types',
  'scope',
  'client_uri',
  'logo_uri',
  'software_id',
  'software_version',
] as const;
const COLUMNS = ['id', 'client_id', 'registration_hash', 'address_hash', 'created_at', ...METADATA] as const;

export type NewClient = Omit<ClientRow, 'disabled_at'>;
export type StoredMetadata = Pick<ClientRow, (typeof METADATA)[number]>;

/**
 * Allows only one caller at a time to count and add registrations. SQLite needs no lock, because it has a single writer
 * anyway.
 */
export async function lockClients(tx: Executor): Promise<void> {
  if (tx.dialect === 'pg') await tx.run('lock table oauth_clients in share row exclusive mode');
}

export interface Registrations {
  count: number;
  /** Creation time of the oldest one. */
  since: number | null;
}

export const countFromAddress = (tx: Executor, addressHash: string, after: number): Promise<Registrations> =>
  countWhere(tx, 'address_hash = ? and created_at > ?', [addressHash, after]);

export const countAll = (tx: Executor, after: number): Promise<Registrations> =>
  countWhere(tx, 'created_at > ?', [after]);

async function countWhere(tx: Executor, where: string, values: (string | number)[]): Promise<Registrations> {
  const sql = `select count(*) as n, min(created_at) as since from oauth_clients where ${where}`;
  const row = await tx.get<{ n: number; since: number | null }>(sql, values);
  return { count: Number(row?.n ?? 0), since: row?.since ?? null };
}

export async function insertClient(tx: Executor, row: NewClient): Promise<void> {
  await tx.insertMany('oauth_clients', COLUMNS, [COLUMNS.map((column) => row[column])]);
}

/** Returns a client; a removed one counts as unknown. */
export const findClient = (db: Executor, clientId: string): Promise<ClientRow | undefined> =>
  db.get<ClientRow>('select * from oauth_clients where client_id = ? and deleted_at is null', [clientId]);

/** Reports whether the client exists and is enabled, and keeps it so until the end of the transaction. */
export async function holdClient(tx: Executor, clientId: string): Promise<boolean> {
  const lock = tx.dialect === 'pg' ? 'for share' : '';
  const sql = `select client_id from oauth_clients where client_id = ? and deleted_at is null and disabled_at is null ${lock}`;
  return (await tx.get(sql, [clientId])) !== undefined;
}

export const replaceMetadata = (tx: Executor, clientId: string, row: StoredMetadata): Promise<number> =>
  tx.run(
    `update oauth_clients set ${METADATA.map((column) => `${column} = ?`).join(', ')}
      where client_id = ? and deleted_at is null`,
    [...METADATA.map((column) => row[column]), clientId],
  );

export const markClientUsed = (tx: Executor, clientId: string, now: number): Promise<number> =>
  tx.run('update oauth_clients set used_at = ? where client_id = ? and used_at is null', [now, clientId]);

export const markClientDeleted = (tx: Executor, clientId: string, now: number): Promise<number> =>
  tx.run('update oauth_clients set deleted_at = ? where client_id = ? and deleted_at is null', [now, clientId]);

export interface ListedClient {
  id: string;
  client_id: string;
  name: string;
  redirect_uris: string;
  client_uri: string | null;
  created_at: number;
  used_at: number | null;
  disabled_at: number | null;
  disabled_reason: string | null;
  disabled_by: string | null;
  live_grants: number;
}

const LIVE_GRANTS = `(select count(*) from oauth_grants g where g.client_id = c.client_id and g.revoked_at is null
  and (g.expires_at is null or g.expires_at > ?)) as live_grants`;
const LISTED = `c.id, c.client_id, c.name, c.redirect_uris, c.client_uri, c.created_at, c.used_at, c.disabled_at,
  c.disabled_reason, c.disabled_by, ${LIVE_GRANTS}`;

export type ClientState = 'enabled' | 'disabled';

const IN_STATE: Record<ClientState, string> = {
  enabled: 'c.disabled_at is null',
  disabled: 'c.disabled_at is not null',
};

export async function clientPage(
  db: Executor,
  { state, now }: { state: ClientState | undefined; now: number },
  page: Page,
): Promise<{ rows: ListedClient[]; hasMore: boolean }> {
  const where = `c.deleted_at is null and c.id is not null ${state === undefined ? '' : `and ${IN_STATE[state]}`}`;
  const sql = pageSql('oauth_clients c', where, page, LISTED);
  return cutPage((await db.all<ListedClient>(sql, [now, ...pageValues(page)])).map(counted), page);
}

export async function findListedClient(db: Executor, id: string, now: number): Promise<ListedClient | undefined> {
  const sql = `select ${LISTED} from oauth_clients c where c.id = ? and c.deleted_at is null`;
  const row = await db.get<ListedClient>(sql, [now, id]);
  return row && counted(row);
}

const counted = (row: ListedClient): ListedClient => ({ ...row, live_grants: Number(row.live_grants) });

/** Disables a client; one that is already disabled stays as it is. */
export const markClientDisabled = (
  tx: Executor,
  id: string,
  { at, reason, by }: { at: number; reason: string; by: string },
): Promise<number> =>
  tx.run(
    `update oauth_clients set disabled_at = ?, disabled_reason = ?, disabled_by = ?
      where id = ? and disabled_at is null and deleted_at is null`,
    [at, reason, by, id],
  );

export const markClientEnabled = (tx: Executor, id: string): Promise<number> =>
  tx.run(
    `update oauth_clients set disabled_at = null, disabled_reason = null, disabled_by = null
      where id = ? and disabled_at is not null`,
    [id],
  );

/** Removes clients without grants that no person has ever authorized, or that were removed. */
export const removeUnusedClients = (db: Executor, before: number): Promise<number> =>
  db.run(
    `delete from oauth_clients where created_at <= ? and (used_at is null or deleted_at <= ?)
      and not exists (select 1 from oauth_grants where oauth_grants.client_id = oauth_clients.client_id)`,
    [before, before],
  );
