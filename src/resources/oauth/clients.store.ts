import type { Executor } from '../../platform/db/index.ts';

export interface ClientRow {
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
}

const METADATA = [
  ...(['name', 'redirect_uris', 'grant_types', 'scope'] as const),
  ...(['client_uri', 'logo_uri', 'software_id', 'software_version'] as const),
];
const COLUMNS = ['client_id', 'registration_hash', 'address_hash', 'created_at', ...METADATA] as const;

export type StoredMetadata = Pick<ClientRow, (typeof METADATA)[number]>;

/** Registrations are counted and added by one caller at a time. On SQLite a writing transaction is alone anyway. */
export async function lockClients(tx: Executor): Promise<void> {
  if (tx.dialect === 'pg') await tx.run('lock table oauth_clients in share row exclusive mode');
}

export interface Registrations {
  count: number;
  /** When the oldest of them was made. */
  since: number | null;
}

export const countFromAddress = (tx: Executor, addressHash: string, after: number): Promise<Registrations> =>
  counted(tx, 'address_hash = ? and created_at > ?', [addressHash, after]);

export const countAll = (tx: Executor, after: number): Promise<Registrations> => counted(tx, 'created_at > ?', [after]);

async function counted(tx: Executor, where: string, values: (string | number)[]): Promise<Registrations> {
  const sql = `select count(*) as n, min(created_at) as since from oauth_clients where ${where}`;
  const row = await tx.get<{ n: number; since: number | null }>(sql, values);
  return { count: Number(row?.n ?? 0), since: row?.since ?? null };
}

export async function insertClient(tx: Executor, row: ClientRow): Promise<void> {
  await tx.insertMany('oauth_clients', COLUMNS, [COLUMNS.map((column) => row[column])]);
}

/** One that was removed is as unknown as one that never was. */
export const findClient = (db: Executor, clientId: string): Promise<ClientRow | undefined> =>
  db.get<ClientRow>('select * from oauth_clients where client_id = ? and deleted_at is null', [clientId]);

/** Whether it is there, and stays to the end of the transaction. */
export async function holdClient(tx: Executor, clientId: string): Promise<boolean> {
  const lock = tx.dialect === 'pg' ? 'for share' : '';
  const sql = `select client_id from oauth_clients where client_id = ? and deleted_at is null ${lock}`;
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

/** Those that nobody has let in, or that were removed, and that no grant names any more. */
export const removeUnusedClients = (db: Executor, before: number): Promise<number> =>
  db.run(
    `delete from oauth_clients where created_at <= ? and (used_at is null or deleted_at <= ?)
      and not exists (select 1 from oauth_grants where oauth_grants.client_id = oauth_clients.client_id)`,
    [before, before],
  );
