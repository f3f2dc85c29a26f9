import { cutPage, pageSql, pageValues, type Executor, type Page, type Value } from '../../platform/db/index.ts';
import type { Permission } from '../access/index.ts';

export interface ApiKeyRow {
  id: string;
  team_id: string;
  name: string;
  key_prefix: string;
  permission: Permission;
  domain_id: string | null;
  status: 'active' | 'revoked' | 'suspended';
  created_at: number;
  last_used_at: number | null;
  last_used_request_log_id: string | null;
}

export async function insertApiKey(
  tx: Executor,
  row: Omit<ApiKeyRow, 'last_used_at' | 'last_used_request_log_id'>,
  tokenHash: string,
): Promise<void> {
  const columns = [
    'id',
    'team_id',
    'name',
    'token_hash',
    'key_prefix',
    'permission',
    'domain_id',
    'status',
    'created_at',
  ];
  const { id, team_id, name, key_prefix, permission, domain_id, status, created_at } = row;
  await tx.insertMany('api_keys', columns, [
    [id, team_id, name, tokenHash, key_prefix, permission, domain_id, status, created_at],
  ]);
}

export interface Credential {
  id: string;
  team_id: string;
  permission: Permission;
  domain_id: string | null;
  status: ApiKeyRow['status'];
  risk_state: string;
}

export const findByTokenHash = (db: Executor, tokenHash: string): Promise<Credential | undefined> =>
  db.get<Credential>(
    `select api_keys.id, team_id, permission, domain_id, status, risk_state
       from api_keys join teams on teams.id = team_id where token_hash = ?`,
    [tokenHash],
  );

export const findKeyName = async (db: Executor, id: string): Promise<string | null> =>
  (await db.get<{ name: string }>('select name from api_keys where id = ?', [id]))?.name ?? null;

export const findKeyStatus = (
  db: Executor,
  keyId: string,
): Promise<Pick<Credential, 'status' | 'risk_state'> | undefined> =>
  db.get('select api_keys.status, risk_state from api_keys join teams on teams.id = team_id where api_keys.id = ?', [
    keyId,
  ]);

export interface KeyFilter {
  status?: 'active' | 'revoked' | 'all' | undefined;
  search?: string | undefined;
  permission?: Permission | undefined;
}

export async function listKeyRows(
  db: Executor,
  teamId: string,
  filter: KeyFilter,
  page: Page,
): Promise<{ rows: ApiKeyRow[]; hasMore: boolean }> {
  const where = ['team_id = ?'];
  const values: Value[] = [teamId];
  if (filter.status !== 'all') where.push(filter.status === 'revoked' ? "status = 'revoked'" : "status <> 'revoked'");
  if (filter.permission) {
    where.push('permission = ?');
    values.push(filter.permission);
  }
  if (filter.search === undefined) {
    const sql = pageSql('api_keys', where.join(' and '), page);
    return cutPage(await db.all<ApiKeyRow>(sql, [...values, ...pageValues(page)]), page);
  }
  // Letter case is folded here and not in SQL: SQLite folds ASCII alone. A team has few keys.
  const wanted = folded(filter.search);
  const everyKey = { ...page, limit: Number.MAX_SAFE_INTEGER - 1 };
  const sql = pageSql('api_keys', where.join(' and '), everyKey);
  const rows = await db.all<ApiKeyRow>(sql, [...values, ...pageValues(everyKey)]);
  return cutPage(rows.filter((row) => folded(row.name).includes(wanted)).slice(0, page.limit + 1), page);
}

const folded = (text: string): string => text.normalize('NFC').toLowerCase();

export const renameKey = (db: Executor, teamId: string, id: string, name: string): Promise<number> =>
  db.run('update api_keys set name = ? where team_id = ? and id = ?', [name, teamId, id]);

export const revokeKey = (db: Executor, teamId: string, id: string): Promise<number> =>
  db.run(`update api_keys set status = 'revoked' where team_id = ? and id = ? and status <> 'revoked'`, [teamId, id]);

/** Revokes the key with this token, unless it has another name. */
export const revokeNamedToken = (db: Executor, tokenHash: string, name: string): Promise<number> =>
  db.run(`update api_keys set status = 'revoked' where token_hash = ? and name = ? and status <> 'revoked'`, [
    tokenHash,
    name,
  ]);

export async function activateKey(db: Executor, id: string): Promise<void> {
  await db.run(`update api_keys set status = 'active' where id = ?`, [id]);
}

export interface KeyUse {
  keyId: string;
  requestLogId: string | null;
}

/** Notes the last use of keys, unless another node or an earlier process has done so since `unlessAfter`. */
export async function noteUse(tx: Executor, uses: KeyUse[], at: number, unlessAfter: number): Promise<void> {
  const [source, key, log] =
    tx.dialect === 'pg'
      ? ['jsonb_array_elements(?::jsonb) as used(entry)', '(used.entry->>0)::uuid', 'used.entry->>1']
      : ['json_each(?) as used', "json_extract(used.value, '$[0]')", "json_extract(used.value, '$[1]')"];
  const sql = `update api_keys set last_used_at = ?, last_used_request_log_id = ${log} from ${source}
    where api_keys.id = ${key} and (last_used_at is null or last_used_at <= ?)`;
  await tx.run(sql, [at, JSON.stringify(uses.map((use) => [use.keyId, use.requestLogId])), unlessAfter]);
}
