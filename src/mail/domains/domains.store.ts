import {
  cutPage,
  pageSql,
  pageValues,
  uuidsIn,
  type Executor,
  type Page,
  type Value,
} from '../../platform/db/index.ts';
import { isSameRecord, type DkimKeyRow, type DomainRow, type RecordRow, type KeyStatus } from './domain-rows.ts';

const KEY_COLUMNS = [
  'id',
  'domain_id',
  'selector',
  'algorithm',
  'bits',
  'private_key_sealed',
  'created_at',
  'status',
  'status_at',
] as const;

export async function insertKeys(tx: Executor, keys: readonly DkimKeyRow[]): Promise<void> {
  if (keys.length === 0) return;
  await tx.insertMany(
    'dkim_keys',
    KEY_COLUMNS,
    keys.map((key) => KEY_COLUMNS.map((column) => key[column])),
  );
}

/** Lists all keys of a domain, whatever their status, oldest first. */
export const listDkimKeys = (db: Executor, domainId: string): Promise<DkimKeyRow[]> =>
  db.all<DkimKeyRow>('select * from dkim_keys where domain_id = ? order by id', [domainId]);

/**
 * Lists the keys that sign the mail of many domains, oldest first: active RSA keys, and active keys of other algorithms
 * (Ed25519), which only sign in addition, once their record has been seen.
 */
export function listSigningKeys(db: Executor, domainIds: readonly string[]): Promise<DkimKeyRow[]> {
  const among = uuidsIn(db.dialect, 'k.domain_id', domainIds);
  const sql = `select k.* from dkim_keys k join domains d on d.id = k.domain_id
    where ${among.sql} and k.status = 'active' and (k.algorithm = 'rsa-sha256' or exists (
      select 1 from domain_records r where r.domain_id = k.domain_id and r.record = 'DKIM' and r.status = 'verified'
        and r.name = k.selector || '._domainkey.' || d.name))
    order by k.id`;
  return db.all<DkimKeyRow>(sql, [among.value]);
}

export async function setKeyStatus(tx: Executor, ids: readonly string[], status: KeyStatus, at: number): Promise<void> {
  if (ids.length === 0) return;
  const among = uuidsIn(tx.dialect, 'id', ids);
  await tx.run(`update dkim_keys set status = ?, status_at = ? where ${among.sql}`, [status, at, among.value]);
}

export async function deleteKeys(tx: Executor, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  const among = uuidsIn(tx.dialect, 'id', ids);
  await tx.run(`delete from dkim_keys where ${among.sql}`, [among.value]);
}

const RECORD_COLUMNS = [
  'domain_id',
  'position',
  'record',
  'name',
  'type',
  'value',
  'priority',
  'status',
  'required',
  'key_status',
  'named_host',
] as const;

async function insertRecords(tx: Executor, records: readonly RecordRow[]): Promise<void> {
  if (records.length === 0) return;
  await tx.insertMany(
    'domain_records',
    RECORD_COLUMNS,
    records.map((record) => RECORD_COLUMNS.map((column) => record[column])),
  );
}

/** Lists every record that is looked up, optional ones included. */
export const recordsToCheck = (db: Executor, domainId: string): Promise<RecordRow[]> =>
  db.all<RecordRow>('select * from domain_records where domain_id = ? order by position', [domainId]);

export interface TeamRecordRow extends RecordRow {
  team_id: string;
  team: string;
  domain: string;
  /** 1 if the name is its team's, and 0 if the team has yet to prove that, or cannot any more. */
  is_held: number;
}

/** Lists the records of all domains that may contain the host name, by team and domain. */
export const recordsWithHost = (db: Executor): Promise<TeamRecordRow[]> =>
  db.all<TeamRecordRow>(
    `select r.*, d.team_id, t.slug as team, d.name as domain,
        case when d.held_at is null then 0 else 1 end as is_held from domain_records r
      join domains d on d.id = r.domain_id join teams t on t.id = d.team_id
      where r.record in ('SPF', 'Receiving', 'Tracking') or (r.record = 'MTA-STS' and r.type = 'CNAME')
      order by t.slug, d.name, r.position`,
    [],
  );

/**
 * Selects the records to publish. A needless CAA record would forbid every other authority, so it is included only once
 * a check has found that it is needed.
 */
export const listedRecords = <Row extends Pick<RecordRow, 'record' | 'required'>>(records: readonly Row[]): Row[] =>
  records.filter(({ record, required }) => record !== 'TrackingCAA' || required === 1);

/** Columns that hold what is known of a record, and do not identify it. */
const KNOWN_COLUMNS = ['status', 'required', 'key_status', 'named_host'] as const;

/** Replaces the stored records by these; unchanged ones are not written. */
export async function saveRecords(
  tx: Executor,
  domainId: string,
  before: readonly RecordRow[],
  after: readonly RecordRow[],
): Promise<void> {
  const isSameList = before.length === after.length && after.every((record, i) => isAt(before[i], record));
  if (!isSameList) {
    await tx.run('delete from domain_records where domain_id = ?', [domainId]);
    return insertRecords(tx, after);
  }
  for (const [i, record] of after.entries()) {
    const old = before[i];
    if (KNOWN_COLUMNS.every((column) => old?.[column] === record[column])) continue;
    const sets = KNOWN_COLUMNS.map((column) => `${column} = ?`).join(', ');
    const values = KNOWN_COLUMNS.map((column) => record[column]);
    const sql = `update domain_records set ${sets} where domain_id = ? and position = ?`;
    await tx.run(sql, [...values, domainId, record.position]);
  }
}

const isAt = (old: RecordRow | undefined, record: RecordRow): boolean =>
  old !== undefined &&
  old.position === record.position &&
  old.priority === record.priority &&
  isSameRecord(old, record);

const DOMAIN_COLUMNS = [
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
  'mta_sts',
] as const;

/** The columns of a domain, with the end of former MTA-STS policies of its name; used with `domains d`. */
const WHOLE = `d.*, (select w.cached_until from sts_withdrawals w where w.name = d.name and not exists (
    select 1 from domains o where o.name = d.name and o.team_id <> d.team_id and o.held_at is not null
  )) as sts_cached_until`;

export async function insertDomain(
  tx: Executor,
  row: DomainRow,
  records: readonly RecordRow[],
  keys: readonly DkimKeyRow[],
): Promise<void> {
  await tx.insertMany('domains', DOMAIN_COLUMNS, [DOMAIN_COLUMNS.map((column) => row[column])]);
  await insertRecords(tx, records);
  await insertKeys(tx, keys);
}

export const findDomain = (db: Executor, teamId: string, id: string): Promise<DomainRow | undefined> =>
  db.get<DomainRow>(`select ${WHOLE} from domains d where d.team_id = ? and d.id = ?`, [teamId, id]);

export const findDomainByName = (db: Executor, teamId: string, name: string): Promise<DomainRow | undefined> =>
  db.get<DomainRow>(`select ${WHOLE} from domains d where d.team_id = ? and d.name = ?`, [teamId, name]);

/** Lists the domains of all teams with this name: several teams may have one, of which one is verified. */
export const listDomainIdsNamed = async (db: Executor, name: string): Promise<string[]> =>
  (await db.all<{ id: string }>('select id from domains where name = ?', [name])).map(({ id }) => id);

/** Lists the names of all domains of a team. */
export const listDomainNames = (db: Executor, teamId: string): Promise<{ id: string; name: string }[]> =>
  db.all('select id, name from domains where team_id = ? order by id', [teamId]);

/** Lists the domains of a team that have this name, or one below it. */
export async function listDomainsBelow(
  db: Executor,
  teamId: string,
  name: string,
): Promise<{ id: string; name: string }[]> {
  const rows = await db.all<{ id: string; name: string }>(
    'select id, name from domains where team_id = ? and (name = ? or name like ?) order by id',
    [teamId, name, `%.${name}`],
  );
  // An underscore of the name matches any character.
  return rows.filter((row) => row.name === name || row.name.endsWith(`.${name}`));
}

/** Returns the names of domains of all teams, by id; a domain that was deleted has none. */
export async function loadDomainNames(db: Executor, ids: readonly string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map();
  const among = uuidsIn(db.dialect, 'id', ids);
  const rows = await db.all<{ id: string; name: string }>(`select id, name from domains where ${among.sql}`, [
    among.value,
  ]);
  return new Map(rows.map(({ id, name }) => [id, name]));
}

/** Reads a domain and locks it to the end of the transaction, so that decisions about it stay valid until then. */
export function lockDomain(tx: Executor, teamId: string, id: string): Promise<DomainRow | undefined> {
  const lock = tx.dialect === 'pg' ? 'for update of d' : '';
  return tx.get<DomainRow>(`select ${WHOLE} from domains d where d.team_id = ? and d.id = ? ${lock}`, [teamId, id]);
}

/** Reports whether another team owns this name, without disclosing which. */
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
  return cutPage(rows, page);
}

export interface SendingName extends Pick<
  DomainRow,
  'id' | 'name' | 'custom_return_path' | 'open_tracking' | 'click_tracking' | 'verified_at'
> {
  /** Null until DNS points it to us. */
  tracking_host: string | null;
}

/** Returns the data of many domains that composing needs. */
export function sendingNames(db: Executor, domainIds: readonly string[]): Promise<SendingName[]> {
  const among = uuidsIn(db.dialect, 'd.id', domainIds);
  const sql = `select d.id, d.name, d.custom_return_path, d.open_tracking, d.click_tracking, d.verified_at,
      r.name as tracking_host
    from domains d left join domain_records r on r.domain_id = d.id and r.record = 'Tracking' and r.status = 'verified'
    where ${among.sql}`;
  return db.all(sql, [among.value]);
}

/** Allows one call a minute per domain; returns whether this one is allowed. The database decides. */
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

/** Columns that a check or a new key changes. */
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

/** Notes that the sweep has processed the domain without a result. */
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
    | 'mta_sts'
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

/** Lists domains that need a look-up, least recently checked first. */
export const domainsToSweep = (db: Executor, checkedBefore: number, limit: number): Promise<DomainRow[]> =>
  db.all<DomainRow>(
    `select ${WHOLE} from domains d where coalesce(d.checked_at, 0) < ? order by coalesce(d.checked_at, 0), d.id limit ?`,
    [checkedBefore, limit],
  );

/** Returns the owner of the return paths at this name: a domain preceded by the label that its holder chose. */
export function returnPathOwner(
  db: Executor,
  name: string,
): Promise<Pick<DomainRow, 'id' | 'team_id' | 'name'> | undefined> {
  const dot = name.indexOf('.');
  const sql = 'select id, team_id, name from domains where name = ? and custom_return_path = ? and held_at is not null';
  return db.get(sql, [name.slice(dot + 1), name.slice(0, Math.max(0, dot))]);
}

/** Finds the domain of this name that receives mail; a name belongs to one team at a time. */
export const receivingDomain = (db: Executor, name: string): Promise<Pick<DomainRow, 'id' | 'team_id'> | undefined> =>
  db.get(`select id, team_id from domains where name = ? and held_at is not null and receiving = 'enabled'`, [name]);

/** Lists the names at which a team receives mail here, oldest domain first. */
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

/** Finds the domain from which a team gets mail about itself: of the team's own, the one verified longest. */
export async function noticeDomain(db: Executor, teamId: string): Promise<string | undefined> {
  const sql = `select name from domains where team_id = ? and verified_at is not null and sending = 'enabled'
    order by verified_at, id limit 1`;
  return (await db.get<{ name: string }>(sql, [teamId]))?.name;
}

/** The domain that owns tracked links, and the hosts at which they work. */
export interface TrackingOwner {
  domainId: string;
  /** False while its team is suspended, and once another team owns the name. */
  isLive: boolean;
  /** The present one first, then the former ones, each until its time. */
  hosts: { name: string; until: number | null }[];
}

type Row = Pick<DomainRow, 'id' | 'name' | 'tracking_subdomain' | 'former_tracking_subdomains'> & { is_live: number };

const SELECT = `select d.id, d.name, d.tracking_subdomain, d.former_tracking_subdomains,
    case when t.risk_state <> 'suspended' and not exists (select 1 from domains o
      where o.name = d.name and o.team_id <> d.team_id and o.held_at is not null) then 1 else 0 end as is_live
  from domains d join teams t on t.id = d.team_id`;

export async function trackingOwner(db: Executor, domainId: string): Promise<TrackingOwner | undefined> {
  const row = await db.get<Row>(`${SELECT} where d.id = ?`, [domainId]);
  return row && toTrackingOwner(row);
}

/**
 * Lists the hosts that pointed readers to us when their DNS was last checked, of verified domains of teams that may
 * send.
 */
export async function trackingHosts(db: Executor): Promise<string[]> {
  const rows = await db.all<{ name: string }>(
    `select distinct r.name from domain_records r join domains d on d.id = r.domain_id join teams t on t.id = d.team_id
      where r.record = 'Tracking' and r.status = 'verified' and d.held_at is not null
      and (d.open_tracking = 1 or d.click_tracking = 1) and t.risk_state <> 'suspended' order by r.name`,
  );
  return rows.map(({ name }) => name.toLowerCase());
}

/** Finds the domain of that name if all domains belong to one team: no team can abuse another's name there. */
export async function trackingOwnerAlone(db: Executor, name: string): Promise<TrackingOwner | undefined> {
  const row = await db.get<Row>(`${SELECT} where d.name = ? and (select count(distinct team_id) from domains) = 1`, [
    name,
  ]);
  return row && toTrackingOwner(row);
}

/** Reports whether readers reach a verified domain of another team by this host. */
export async function isTrackingHostOfOthers(
  db: Executor,
  { host, teamId, now }: { host: string; teamId: string; now: number },
): Promise<boolean> {
  const domain = host.slice(host.indexOf('.') + 1);
  const rows = await db.all<Row>(`${SELECT} where d.name = ? and d.team_id <> ? and d.held_at is not null`, [
    domain,
    teamId,
  ]);
  return rows
    .flatMap((row) => toTrackingOwner(row).hosts)
    .some(({ name, until }) => name === host && (until === null || now < until));
}

function toTrackingOwner(row: Row): TrackingOwner {
  const former = readFormerSubdomains(row);
  return {
    domainId: row.id,
    isLive: row.is_live === 1,
    hosts: [{ label: row.tracking_subdomain, until: null }, ...former].map(({ label, until }) => ({
      name: `${label}.${row.name}`,
      until,
    })),
  };
}

interface FormerSubdomain {
  label: string;
  until: number;
}

export const readFormerSubdomains = (row: Pick<DomainRow, 'former_tracking_subdomains'>): FormerSubdomain[] =>
  row.former_tracking_subdomains === null ? [] : (JSON.parse(row.former_tracking_subdomains) as FormerSubdomain[]);

/** Finds the verified copy of a name that belongs to another team; there is one at the most. */
export const findOwner = (db: Executor, teamId: string, name: string): Promise<DomainRow | undefined> =>
  db.get<DomainRow>(`select ${WHOLE} from domains d where d.name = ? and d.held_at is not null and d.team_id <> ?`, [
    name,
    teamId,
  ]);

/** Finds the same copy and locks it to the end of the transaction. */
export function lockOwner(tx: Executor, teamId: string, name: string): Promise<DomainRow | undefined> {
  const lock = tx.dialect === 'pg' ? 'for update of d' : '';
  const sql = `select ${WHOLE} from domains d where d.name = ? and d.held_at is not null and d.team_id <> ? ${lock}`;
  return tx.get<DomainRow>(sql, [name, teamId]);
}

/** Resets the limit on checks: calls before a domain changed hands do not delay its next check. */
export const forgetAsking = (tx: Executor, id: string): Promise<number> =>
  tx.run('update domains set asked_at = null where id = ?', [id]);
