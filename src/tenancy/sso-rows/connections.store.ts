import { uuidsIn, type Executor } from '../../platform/db/index.ts';

export interface ConnectionRow {
  id: string;
  team_id: string;
  issuer: string;
  client_id: string;
  /** Sealed with the instance key, bound to the id. */
  client_secret: string;
  enforced: number;
  default_role: 'viewer' | 'member';
  tested_at: number | null;
  created_at: number;
  updated_at: number;
  /** Since when the provider fails; null while it does not. */
  failing_since: number | null;
}

const COLUMNS = [
  ...(['id', 'team_id', 'issuer', 'client_id', 'client_secret', 'enforced', 'default_role'] as const),
  ...(['tested_at', 'created_at', 'updated_at'] as const),
];

export const insertConnection = (tx: Executor, row: Omit<ConnectionRow, 'failing_since'>): Promise<number> =>
  tx.insertMany('sso_connections', COLUMNS, [COLUMNS.map((column) => row[column])]);

export const findConnection = (db: Executor, teamId: string): Promise<ConnectionRow | undefined> =>
  db.get<ConnectionRow>('select * from sso_connections where team_id = ?', [teamId]);

export const connectionById = (db: Executor, id: string): Promise<ConnectionRow | undefined> =>
  db.get<ConnectionRow>('select * from sso_connections where id = ?', [id]);

export async function connectionsOf(db: Executor, teamIds: readonly string[]): Promise<ConnectionRow[]> {
  if (teamIds.length === 0) return [];
  const among = uuidsIn(db.dialect, 'team_id', teamIds);
  return db.all<ConnectionRow>(`select * from sso_connections where ${among.sql}`, [among.value]);
}

export type ConnectionChange = Pick<ConnectionRow, 'client_secret' | 'enforced' | 'default_role' | 'updated_at'>;

export const changeConnection = (tx: Executor, id: string, change: ConnectionChange): Promise<number> =>
  tx.run('update sso_connections set client_secret = ?, enforced = ?, default_role = ?, updated_at = ? where id = ?', [
    change.client_secret,
    change.enforced,
    change.default_role,
    change.updated_at,
    id,
  ]);

/** `discovery`: what it says of itself, which we ask for by ourselves; `exchange`: what takes a person who signs in. */
export type ProviderStep = 'discovery' | 'exchange';

export interface NotedFault {
  kind: 'down' | 'wrong';
  step: ProviderStep;
  says: string;
}

/** Since when it fails stays, whatever else fails later. */
export const noteProviderFault = (
  db: Executor,
  id: string,
  { kind, step, says, at }: NotedFault & { at: number },
): Promise<number> =>
  db.run(
    `update sso_connections set failing_since = coalesce(failing_since, ?), fault_kind = ?, fault_step = ?, fault = ?
      where id = ?`,
    [at, kind, step, says, id],
  );

/** Of one step, where it is named: that a provider tells of itself does not show that it signs people in. */
export const clearProviderFault = (db: Executor, id: string, step?: ProviderStep): Promise<number> =>
  db.run(
    `update sso_connections set failing_since = null, fault_kind = null, fault_step = null, fault = null
      where id = ? and failing_since is not null ${step === undefined ? '' : 'and fault_step = ?'}`,
    step === undefined ? [id] : [id, step],
  );

/** Those that people can sign in through, page by page in the order of their ids. */
export const connectionsInUse = (db: Executor, after: string | null, limit: number): Promise<ConnectionRow[]> =>
  db.all<ConnectionRow>(
    `select * from sso_connections c where exists (select 1 from sso_domains d
        where d.team_id = c.team_id and d.verified_at is not null)
      ${after === null ? '' : 'and id > ?'} order by id limit ?`,
    after === null ? [limit] : [after, limit],
  );

export const stopEnforcing = (tx: Executor, teamId: string, now: number): Promise<number> =>
  tx.run('update sso_connections set enforced = 0, updated_at = ? where team_id = ? and enforced = 1', [now, teamId]);

export const noteTested = (tx: Executor, id: string, now: number): Promise<number> =>
  tx.run('update sso_connections set tested_at = ? where id = ? and tested_at is null', [now, id]);

/** With the people that it knows. */
export const removeConnection = (tx: Executor, id: string): Promise<number> =>
  tx.run('delete from sso_connections where id = ?', [id]);

export const isEnforced = async (db: Executor, teamId: string): Promise<boolean> =>
  (await findConnection(db, teamId))?.enforced === 1;
