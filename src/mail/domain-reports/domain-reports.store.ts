import {
  cutPage,
  pageSql,
  pageValues,
  uuidsIn,
  type Executor,
  type Page,
  type Value,
} from '../../platform/db/index.ts';
import { nextTurn } from '../../platform/clock.ts';
import { SUCCESSFUL, type ReportedSessions, type ReportedSource, type ReportParts } from './read-report.ts';

export type ReportType = 'dmarc' | 'tls';

export interface ReportRow {
  id: string;
  domain_id: string;
  type: ReportType;
  organization: string;
  submitter: string;
  organizational_domain: string;
  authenticated: number;
  fingerprint: string;
  report_id: string;
  policy_domain: string;
  begin_at: number;
  end_at: number;
  day: number;
  total: number;
  passed: number;
  parts: number;
  created_at: number;
}

const COLUMNS = [
  'id',
  'domain_id',
  'type',
  'organization',
  'submitter',
  'organizational_domain',
  'authenticated',
  'fingerprint',
  'report_id',
  'policy_domain',
  'begin_at',
  'end_at',
  'day',
  'total',
  'passed',
  'parts',
  'created_at',
] as const;

/** Inserts a report with its parts, in the transaction of the caller; returns false if it is stored already. */
export async function insertReport(tx: Executor, row: ReportRow, parts: ReportParts): Promise<boolean> {
  const written = await tx.insertMany(
    'domain_reports',
    COLUMNS,
    [COLUMNS.map((column) => row[column])],
    'on conflict (domain_id, fingerprint) do nothing',
  );
  if (written === 0) return false;
  const place = [row.domain_id, row.day, row.id];
  if (parts.type === 'dmarc') await insertSources(tx, place, parts.sources);
  else await insertSessions(tx, place, parts.sessions);
  if (row.parts > 0) await addToStoredParts(tx, row.domain_id, row.parts);
  return true;
}

/** Counts the parts of a domain. It is the last statement of a transaction, so that others wait for it but shortly. */
const addToStoredParts = (tx: Executor, domainId: string, parts: number): Promise<unknown> =>
  tx.run(
    `insert into domain_report_counts (domain_id, parts) values (?, ?)
      on conflict (domain_id) do update set parts = domain_report_counts.parts + excluded.parts`,
    [domainId, parts],
  );

/** Counts the parts that the installation has stored. */
export async function countStoredParts(db: Executor): Promise<number> {
  const row = await db.get<{ parts: number | string | null }>('select sum(parts) as parts from domain_report_counts');
  return Number(row?.parts ?? 0);
}

/** Reports whether a copy of a report is stored. */
export const isReportStored = async (
  db: Executor,
  { domain_id: domainId, fingerprint }: Pick<ReportRow, 'domain_id' | 'fingerprint'>,
): Promise<boolean> =>
  (await db.get('select 1 as found from domain_reports where domain_id = ? and fingerprint = ?', [
    domainId,
    fingerprint,
  ])) !== undefined;

/** Reports whether a proven report about a domain arrived before from the submitter, which is the exact domain in From. */
export const isKnownSubmitter = async (
  db: Executor,
  domainId: string,
  submitter: string,
  before: number,
): Promise<boolean> =>
  (await db.get(
    `select 1 as found from domain_reports
      where domain_id = ? and submitter = ? and authenticated = 1 and created_at <= ? limit 1`,
    [domainId, submitter, before],
  )) !== undefined;

/** A statement on SQLite blocks the process: these rows take some milliseconds. */
const ROWS_A_STATEMENT = 250;

const SOURCE_COLUMNS = [
  'domain_id',
  'day',
  'report_id',
  'part',
  'source_ip',
  'header_from',
  'disposition',
  'dkim_passed',
  'spf_passed',
  'is_own',
  'messages',
] as const;

async function insertSources(tx: Executor, place: readonly Value[], sources: readonly ReportedSource[]): Promise<void> {
  for (let from = 0; from < sources.length; from += ROWS_A_STATEMENT) {
    if (from > 0) await nextTurn();
    const rows = sources
      .slice(from, from + ROWS_A_STATEMENT)
      .map((source, index) => [
        ...place,
        from + index,
        source.sourceIp,
        source.headerFrom,
        source.disposition,
        source.hasPassedDkim ? 1 : 0,
        source.hasPassedSpf ? 1 : 0,
        source.isOwn ? 1 : 0,
        source.messages,
      ]);
    await tx.insertMany('domain_report_sources', SOURCE_COLUMNS, rows);
  }
}

const SESSION_COLUMNS = [
  'domain_id',
  'day',
  'report_id',
  'part',
  'policy_type',
  'result',
  'mx_host',
  'sending_ip',
  'sessions',
] as const;

async function insertSessions(
  tx: Executor,
  place: readonly Value[],
  sessions: readonly ReportedSessions[],
): Promise<void> {
  for (let from = 0; from < sessions.length; from += ROWS_A_STATEMENT) {
    if (from > 0) await nextTurn();
    const rows = sessions
      .slice(from, from + ROWS_A_STATEMENT)
      .map((one, index) => [
        ...place,
        from + index,
        one.policyType,
        one.result,
        one.mxHost,
        one.sendingIp,
        one.sessions,
      ]);
    await tx.insertMany('domain_report_sessions', SESSION_COLUMNS, rows);
  }
}

const sumWhere = (condition: string, count: string): string => `sum(case when ${condition} then ${count} else 0 end)`;

export interface StoredOfDay {
  /** Proven ones. */
  reports: number;
  unauthenticated: number;
  parts: number;
  /** By the submitter of the report, which is the domain in From. */
  ofSubmitter: { reports: number; parts: number };
  /** By all submitters below the same registered name. */
  ofOrganization: { reports: number; parts: number };
}

/**
 * Counts what is stored of the day of a domain that a report is about: by all submitters, by that of the report, and by
 * those below its registered name.
 */
export async function countReportsOfDay(
  db: Executor,
  { domain_id: domainId, day, submitter, organizational_domain: organization }: ReportRow,
): Promise<StoredOfDay> {
  const isOfSubmitter = 'authenticated = 1 and submitter = ?';
  const isOfOrganization = 'authenticated = 1 and organizational_domain = ?';
  type Count =
    | 'reports'
    | 'unauthenticated'
    | 'parts'
    | 'submitter_reports'
    | 'submitter_parts'
    | 'organization_reports'
    | 'organization_parts';
  const row = await db.get<Record<Count, number | string | null>>(
    `select sum(authenticated) as reports, sum(1 - authenticated) as unauthenticated, sum(parts) as parts,
        ${sumWhere(isOfSubmitter, '1')} as submitter_reports, ${sumWhere(isOfSubmitter, 'parts')} as submitter_parts,
        ${sumWhere(isOfOrganization, '1')} as organization_reports,
        ${sumWhere(isOfOrganization, 'parts')} as organization_parts
      from domain_reports where domain_id = ? and day = ?`,
    [submitter, submitter, organization, organization, domainId, day],
  );
  return {
    reports: Number(row?.reports ?? 0),
    unauthenticated: Number(row?.unauthenticated ?? 0),
    parts: Number(row?.parts ?? 0),
    ofSubmitter: { reports: Number(row?.submitter_reports ?? 0), parts: Number(row?.submitter_parts ?? 0) },
    ofOrganization: { reports: Number(row?.organization_reports ?? 0), parts: Number(row?.organization_parts ?? 0) },
  };
}

export async function pageReports(
  db: Executor,
  domainId: string,
  {
    type,
    fromId,
    beforeId,
  }: { type: ReportType | undefined; fromId: string | undefined; beforeId: string | undefined },
  page: Page,
): Promise<{ rows: ReportRow[]; hasMore: boolean }> {
  const conditions: { sql: string; value: string | undefined }[] = [
    { sql: 'domain_id = ?', value: domainId },
    { sql: 'type = ?', value: type },
    { sql: 'id >= ?', value: fromId },
    { sql: 'id < ?', value: beforeId },
  ];
  const given = conditions.flatMap(({ sql, value }) => (value === undefined ? [] : [{ sql, value }]));
  const sql = pageSql('domain_reports', given.map((one) => one.sql).join(' and '), page);
  const rows = await db.all<ReportRow>(sql, [...given.map(({ value }) => value), ...pageValues(page)]);
  return cutPage(rows.map(readRow), page);
}

/** PostgreSQL returns a bigint as a string. */
const readRow = (row: ReportRow): ReportRow => ({
  ...row,
  begin_at: Number(row.begin_at),
  end_at: Number(row.end_at),
  day: Number(row.day),
  total: Number(row.total),
  passed: Number(row.passed),
  created_at: Number(row.created_at),
});

/** Counts the reports about a range of days, by type. */
export async function countReports(
  db: Executor,
  domainId: string,
  { fromDay, toDay }: { fromDay: number; toDay: number },
): Promise<{ type: ReportType; authenticated: boolean; reports: number }[]> {
  const rows = await db.all<{ type: ReportType; authenticated: number; reports: number | string }>(
    `select type, authenticated, count(*) as reports from domain_reports
      where domain_id = ? and day >= ? and day <= ? group by type, authenticated`,
    [domainId, fromDay, toDay],
  );
  return rows.map((row) => ({
    type: row.type,
    authenticated: row.authenticated === 1,
    reports: Number(row.reports),
  }));
}

/**
 * Adds up the messages of the authenticated DMARC reports about a range of days, by domain. A report has the sums of its parts,
 * so that this reads one row for each report.
 */
export async function sumDmarcOfDomains(
  db: Executor,
  domainIds: readonly string[],
  { fromDay, toDay }: { fromDay: number; toDay: number },
): Promise<Map<string, { messages: number; failed: number }>> {
  if (domainIds.length === 0) return new Map();
  const among = uuidsIn(db.dialect, 'domain_id', domainIds);
  const rows = await db.all<{ domain_id: string; messages: number | string; passed: number | string }>(
    `select domain_id, sum(total) as messages, sum(passed) as passed from domain_reports
      where ${among.sql} and day >= ? and day <= ? and type = 'dmarc' and authenticated = 1 group by domain_id`,
    [among.value, fromDay, toDay],
  );
  return new Map(
    rows.map(({ domain_id: id, messages, passed }) => [
      id,
      { messages: Number(messages), failed: Number(messages) - Number(passed) },
    ]),
  );
}

/** Messages of DMARC reports, by their results. */
export interface MessageCounts {
  messages: number;
  passed: number;
  dkim_passed: number;
  spf_passed: number;
  quarantined: number;
  rejected: number;
}

const MESSAGE_COUNTS = `sum(messages) as messages,
  ${sumWhere('dkim_passed = 1 or spf_passed = 1', 'messages')} as passed,
  ${sumWhere('dkim_passed = 1', 'messages')} as dkim_passed,
  ${sumWhere('spf_passed = 1', 'messages')} as spf_passed,
  ${sumWhere("disposition = 'quarantine'", 'messages')} as quarantined,
  ${sumWhere("disposition = 'reject'", 'messages')} as rejected`;

/** PostgreSQL returns sums as strings, and both databases return null for a sum of nothing. */
const readCounts = (row: Partial<MessageCounts> | undefined): MessageCounts => ({
  messages: Number(row?.messages ?? 0),
  passed: Number(row?.passed ?? 0),
  dkim_passed: Number(row?.dkim_passed ?? 0),
  spf_passed: Number(row?.spf_passed ?? 0),
  quarantined: Number(row?.quarantined ?? 0),
  rejected: Number(row?.rejected ?? 0),
});

/** Adds up the messages of one day of a domain, which all its reporters saw. */
export const messagesOfDay = async (db: Executor, domainId: string, day: number): Promise<MessageCounts> =>
  readCounts(
    await db.get<MessageCounts>(`select ${MESSAGE_COUNTS} from domain_report_sources where domain_id = ? and day = ?`, [
      domainId,
      day,
    ]),
  );

export interface SourceOfDay extends MessageCounts {
  source_ip: string;
  header_from: string;
  is_own: number;
}

/** Adds up the sources of one day of a domain that sent most, by address and domain in From. */
export async function sourcesOfDay(db: Executor, domainId: string, day: number, limit: number): Promise<SourceOfDay[]> {
  const rows = await db.all<SourceOfDay>(
    `select source_ip, header_from, max(is_own) as is_own, ${MESSAGE_COUNTS}
      from domain_report_sources where domain_id = ? and day = ? and source_ip <> ''
      group by source_ip, header_from order by sum(messages) desc, source_ip, header_from limit ?`,
    [domainId, day, limit],
  );
  return rows.map((row) => ({ ...row, ...readCounts(row) }));
}

/** TLS sessions. */
export interface SessionCounts {
  successful: number;
  failed: number;
}

const SESSION_COUNTS = `${sumWhere(`result = '${SUCCESSFUL}'`, 'sessions')} as successful,
  ${sumWhere(`result <> '${SUCCESSFUL}'`, 'sessions')} as failed`;

/** Adds up the TLS sessions of one day of a domain. */
export async function sessionsOfDay(db: Executor, domainId: string, day: number): Promise<SessionCounts> {
  const row = await db.get<SessionCounts>(
    `select ${SESSION_COUNTS} from domain_report_sessions where domain_id = ? and day = ?`,
    [domainId, day],
  );
  return { successful: Number(row?.successful ?? 0), failed: Number(row?.failed ?? 0) };
}

export interface ReporterOfDay extends SessionCounts {
  submitter: string;
  /** One of the names that its reports give it. */
  organization: string;
}

/** Adds up the TLS sessions of one day of a domain by reporter, those with most failures first. */
export async function reportersOfDay(
  db: Executor,
  domainId: string,
  day: number,
  limit: number,
): Promise<ReporterOfDay[]> {
  const rows = await db.all<ReporterOfDay>(
    // By report first, in the order of the index, so that few rows are joined.
    `select r.submitter, max(r.organization) as organization, sum(s.successful) as successful, sum(s.failed) as failed
      from (select report_id, ${SESSION_COUNTS} from domain_report_sessions where domain_id = ? and day = ?
        group by report_id) s join domain_reports r on r.id = s.report_id
      group by r.submitter order by sum(s.failed) desc, sum(s.successful) desc, r.submitter limit ?`,
    [domainId, day, limit],
  );
  return rows.map((row) => ({ ...row, successful: Number(row.successful), failed: Number(row.failed) }));
}

export interface FailuresOfDay {
  submitter: string;
  policy_type: string;
  result: string;
  mx_host: string;
  sessions: number;
}

/** Adds up the failures of one day of a domain by reporter, kind and host, the most frequent first. */
export async function failuresOfDay(
  db: Executor,
  domainId: string,
  day: number,
  limit: number,
): Promise<FailuresOfDay[]> {
  const rows = await db.all<FailuresOfDay>(
    `select r.submitter, s.policy_type, s.result, s.mx_host, sum(s.sessions) as sessions
      from domain_report_sessions s join domain_reports r on r.id = s.report_id
      where s.domain_id = ? and s.day = ? and s.result <> '${SUCCESSFUL}'
      group by r.submitter, s.policy_type, s.result, s.mx_host
      order by sum(s.sessions) desc, r.submitter, s.policy_type, s.result, s.mx_host limit ?`,
    [domainId, day, limit],
  );
  return rows.map((row) => ({ ...row, sessions: Number(row.sessions) }));
}

type Removable = Pick<ReportRow, 'id' | 'domain_id' | 'day' | 'parts'>;

/** Lists the oldest reports about days before this one. */
export const oldReports = (db: Executor, beforeDay: number, limit: number): Promise<Removable[]> =>
  db.all<Removable>('select id, domain_id, day, parts from domain_reports where day < ? order by day limit ?', [
    beforeDay,
    limit,
  ]);

/** Lists reports of a domain that has been deleted. It reads one row for each domain with reports. */
export async function reportsOfDeletedDomains(db: Executor, limit: number): Promise<Removable[]> {
  const first = (after: string): string => `(select domain_id from domain_reports ${after} order by domain_id limit 1)`;
  const gone = await db.get<{ id: string }>(
    `with recursive known (id) as (
        select ${first('')} union all select ${first('where domain_id > known.id')} from known where known.id is not null
      )
      select id from known where id is not null and not exists (select 1 from domains where domains.id = known.id)
      limit 1`,
  );
  if (!gone) return [];
  const sql = 'select id, domain_id, day, parts from domain_reports where domain_id = ? order by id limit ?';
  return db.all<Removable>(sql, [gone.id, limit]);
}

/** Removes reports with their parts. */
export async function removeReports(tx: Executor, reports: readonly Removable[]): Promise<void> {
  const places = reports
    .filter(({ parts }) => parts > 0)
    .map(({ id, domain_id: domainId, day }) => [domainId, Number(day), id]);
  const ofReport = 'where domain_id = ? and day = ? and report_id = ?';
  await tx.runEach(`delete from domain_report_sources ${ofReport}`, places);
  await tx.runEach(`delete from domain_report_sessions ${ofReport}`, places);
  const among = uuidsIn(
    tx.dialect,
    'id',
    reports.map(({ id }) => id),
  );
  await tx.run(`delete from domain_reports where ${among.sql}`, [among.value]);
  const removed = new Map<string, number>();
  for (const { domain_id: id, parts } of reports) removed.set(id, (removed.get(id) ?? 0) + parts);
  const counted = [...removed].filter(([, parts]) => parts > 0).sort(([a], [b]) => (a < b ? -1 : 1));
  await tx.runEach(
    'update domain_report_counts set parts = parts - ? where domain_id = ?',
    counted.map(([id, parts]) => [parts, id]),
  );
  await tx.runEach(
    'delete from domain_report_counts where domain_id = ? and parts <= 0',
    counted.map(([id]) => [id]),
  );
}
