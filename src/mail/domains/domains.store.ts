import { pageOf, pageSql, pageValues, uuidsIn, type Executor, type Page, type Value } from '../../platform/db/index.ts';
import type { DkimKeyRow, DomainRow, RecordRow } from './domain-rows.ts';
import { insertKeys } from './dkim-keys.store.ts';
import { insertRecords } from './records.store.ts';

export type {
  DkimKeyRow,
  DomainRow,
  DomainStatus,
  KeyStatus,
  RecordKind,
  RecordRow,
  RecordStatus,
} from './domain-rows.ts';

const COLUMNS = [
  'id',
  'team_id',
  'name',
  'status',
  'region',
  'open_tracking',
  'click_tracking',
  'tracking_subdomain',
  'former_tracking_subdomains',
  'custom_return_path',
  'tls',
  'tls_verify',
  'sending',
  'receiving',
  'created_at',
  'asked_at',
  'checked_at',
  'first_checked_at',
  'verified_at',
  'held_at',
  'failing_since',
  'receiving_since',
  'receiving_verified_at',
  'receiving_failing_since',
  'lost_at',
  'receiving_lost_at',
] as const;

export async function insertDomain(
  tx: Executor,
  row: DomainRow,
  records: readonly RecordRow[],
  keys: readonly DkimKeyRow[],
): Promise<void> {
  await tx.insertMany('domains', COLUMNS, [COLUMNS.map((column) => row[column])]);
  await insertRecords(tx, records);
  await insertKeys(tx, keys);
}

export const findDomain = (db: Executor, teamId: string, id: string): Promise<DomainRow | undefined> =>
  db.get<DomainRow>('select * from domains where team_id = ? and id = ?', [teamId, id]);

export const findDomainByName = (db: Executor, teamId: string, name: string): Promise<DomainRow | undefined> =>
  db.get<DomainRow>('select * from domains where team_id = ? and name = ?', [teamId, name]);

/** The domain as it is now, locked to the end of the transaction, so that what is decided about it still holds then. */
export function lockDomain(tx: Executor, teamId: string, id: string): Promise<DomainRow | undefined> {
  const lock = tx.dialect === 'pg' ? 'for update' : '';
  return tx.get<DomainRow>(`select * from domains where team_id = ? and id = ? ${lock}`, [teamId, id]);
}

/** Whether this name is some other team's; which one is not told. */
export async function isOwnedElsewhere(db: Executor, teamId: string, name: string): Promise<boolean> {
  const sql = 'select 1 as found from domains where name = ? and held_at is not null and team_id <> ?';
  return (await db.get(sql, [name, teamId])) !== undefined;
}

export async function countDomains(db: Executor, teamId: string): Promise<number> {
  const row = await db.get<{ n: number }>('select count(*) as n from domains where team_id = ?', [teamId]);
  return row?.n ?? 0;
}

export async function listDomainRows(
  db: Executor,
  teamId: string,
  page: Page,
): Promise<{ rows: DomainRow[]; hasMore: boolean }> {
  const rows = await db.all<DomainRow>(pageSql('domains', 'team_id = ?', page), [teamId, ...pageValues(page)]);
  return pageOf(rows, page);
}

export interface SendingName extends Pick<
  DomainRow,
  'id' | 'name' | 'custom_return_path' | 'open_tracking' | 'click_tracking' | 'verified_at'
> {
  /** Null until DNS leads it to us. */
  tracking_host: string | null;
}

/** What composing needs to know of many domains. */
export function sendingNames(db: Executor, domainIds: readonly string[]): Promise<SendingName[]> {
  const among = uuidsIn(db.dialect, 'd.id', domainIds);
  const sql = `select d.id, d.name, d.custom_return_path, d.open_tracking, d.click_tracking, d.verified_at,
      r.name as tracking_host
    from domains d left join domain_records r on r.domain_id = d.id and r.record = 'Tracking' and r.status = 'verified'
    where ${among.sql}`;
  return db.all(sql, [among.value]);
}

/** One call a minute per domain: answers whether this one was let through, decided by the database. */
export async function claimAsk(
  db: Executor,
  teamId: string,
  id: string,
  now: number,
  spacingMs: number,
): Promise<boolean> {
  const sql = 'update domains set asked_at = ? where team_id = ? and id = ? and (asked_at is null or asked_at <= ?)';
  return (await db.run(sql, [now, teamId, id, now - spacingMs])) === 1;
}

/** What a check or a new key makes of a domain. */
const STATE = [
  'status',
  'checked_at',
  'first_checked_at',
  'verified_at',
  'held_at',
  'failing_since',
  'receiving_since',
  'receiving_verified_at',
  'receiving_failing_since',
  'lost_at',
  'receiving_lost_at',
] as const;

export async function saveState(tx: Executor, domain: DomainRow): Promise<void> {
  const sets = STATE.map((column) => `${column} = ?`).join(', ');
  await tx.run(`update domains set ${sets} where id = ?`, [...STATE.map((column) => domain[column]), domain.id]);
}

/** The sweep has been here and could decide nothing. */
export const noteChecked = (db: Executor, id: string, now: number): Promise<number> =>
  db.run('update domains set checked_at = ? where id = ?', [now, id]);

export type DomainChange = Partial<
  Pick<
    DomainRow,
    | 'open_tracking'
    | 'click_tracking'
    | 'tls'
    | 'tls_verify'
    | 'tracking_subdomain'
    | 'former_tracking_subdomains'
    | 'sending'
    | 'receiving'
  >
>;

export async function saveSettings(tx: Executor, teamId: string, id: string, change: DomainChange): Promise<void> {
  const columns = Object.keys(change) as (keyof DomainChange)[];
  if (columns.length === 0) return;
  const values = columns.map((column): Value => change[column] ?? null);
  const sets = columns.map((column) => `${column} = ?`).join(', ');
  await tx.run(`update domains set ${sets} where team_id = ? and id = ?`, [...values, teamId, id]);
}

export async function deleteDomainRows(tx: Executor, id: string): Promise<void> {
  await tx.run('delete from dkim_keys where domain_id = ?', [id]);
  await tx.run('delete from domain_records where domain_id = ?', [id]);
  await tx.run('delete from domains where id = ?', [id]);
}

/** Domains with something to look up, those not looked at for longest first. */
export const domainsToSweep = (db: Executor, checkedBefore: number, limit: number): Promise<DomainRow[]> =>
  db.all<DomainRow>(
    'select * from domains where coalesce(checked_at, 0) < ? order by coalesce(checked_at, 0), id limit ?',
    [checkedBefore, limit],
  );

/** Whose return paths are on this name: the label in front of a domain that its holder chose. */
export function returnPathOwner(
  db: Executor,
  name: string,
): Promise<Pick<DomainRow, 'id' | 'team_id' | 'name'> | undefined> {
  const dot = name.indexOf('.');
  const sql = 'select id, team_id, name from domains where name = ? and custom_return_path = ? and held_at is not null';
  return db.get(sql, [name.slice(dot + 1), name.slice(0, Math.max(0, dot))]);
}

/** The domain of this name that takes mail; a name is one team's at a time. */
export const receivingDomain = (db: Executor, name: string): Promise<Pick<DomainRow, 'id' | 'team_id'> | undefined> =>
  db.get(`select id, team_id from domains where name = ? and held_at is not null and receiving = 'enabled'`, [name]);

/** Names at which mail for a team comes here, oldest domain first. */
export async function receivingNames(db: Executor, teamId: string): Promise<string[]> {
  const sql = `select name from domains where team_id = ? and held_at is not null and receiving = 'enabled' order by id`;
  return (await db.all<{ name: string }>(sql, [teamId])).map((row) => row.name);
}

/** Returns the names of the domains that a team may send from, the one verified longest first. */
export async function listSendableDomains(db: Executor, teamId: string, limit: number): Promise<string[]> {
  const sql = `select name from domains where team_id = ? and verified_at is not null and sending = 'enabled'
    order by verified_at, id limit ?`;
  return (await db.all<{ name: string }>(sql, [teamId, limit])).map(({ name }) => name);
}

/** The domain from which a team gets mail about itself: of the team's own, the one verified longest. */
export async function noticeDomain(db: Executor, teamId: string): Promise<string | undefined> {
  const sql = `select name from domains where team_id = ? and verified_at is not null and sending = 'enabled'
    order by verified_at, id limit 1`;
  return (await db.get<{ name: string }>(sql, [teamId]))?.name;
}
