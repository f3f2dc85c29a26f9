import {
  cutPage,
  pageSql,
  pageValues,
  prefixPage,
  rowsEnding,
  type Executor,
  type Page,
  type Value,
} from '../../platform/db/index.ts';
import { firstIdAt } from '../../platform/ids.ts';

/** Bodies are JSON text, redacted before they are stored. */
export interface LogRow {
  id: string;
  team_id: string;
  api_key_id: string | null;
  method: string;
  endpoint: string;
  response_status: number;
  user_agent: string | null;
  request_body: string | null;
  response_body: string | null;
  /** Null in rows of earlier versions, which use the time of their id. */
  created_at: number | null;
}

const COLUMNS = [
  'team_id',
  'id',
  'api_key_id',
  'method',
  'endpoint',
  'response_status',
  'user_agent',
  'request_body',
  'response_body',
  'created_at',
] as const;

/** Inserts rows. A batch that was written although its result was lost may be written again. */
export function insertLogs(tx: Executor, rows: readonly LogRow[]): Promise<number> {
  return tx.insertMany(
    'request_logs',
    COLUMNS,
    rows.map((row) => COLUMNS.map((column) => row[column])),
    'on conflict (team_id, id) do nothing',
  );
}

export const findLog = (db: Executor, teamId: string, id: string): Promise<LogRow | undefined> =>
  db.get<LogRow>('select * from request_logs where team_id = ? and id = ?', [teamId, id]);

export interface LogRowFilter {
  /** 400 or more: only refusals are indexed. */
  responseStatus?: number | undefined;
  /** Milliseconds, both inclusive. */
  createdFrom?: number | undefined;
  createdTo?: number | undefined;
  /** Prefix of the path, with or without its first slash. */
  search?: string | undefined;
}

const LIST_COLUMNS = 'id, method, endpoint, response_status, user_agent, created_at';

export type LogListRow = Pick<LogRow, 'id' | 'method' | 'endpoint' | 'response_status' | 'user_agent' | 'created_at'>;

/** Fewer than usual, because SQLite reads the whole row of an id, with both bodies. */
const ENDING = { table: 'request_logs', id: 'id', form: 'uuid', noun: 'requests', lookedAtMax: 20_000 } as const;

export const logRowsEnding = (db: Executor, teamId: string, end: string, page: Page) =>
  rowsEnding<LogListRow>(
    db,
    { ...ENDING, columns: LIST_COLUMNS, where: { sql: 'team_id = ?', values: [teamId] } },
    end,
    page,
  );

export async function listLogRows(
  db: Executor,
  teamId: string,
  filter: LogRowFilter,
  page: Page,
): Promise<{ rows: LogListRow[]; hasMore: boolean }> {
  const where = ['true'];
  const values: Value[] = [];
  const narrow = (condition: string, value: Value): void => {
    where.push(condition);
    values.push(value);
  };
  const { responseStatus, createdFrom, createdTo, search } = filter;
  if (responseStatus !== undefined) narrow('response_status >= 400 and response_status = ?', responseStatus);
  if (createdFrom !== undefined) narrow('id >= ?', firstIdAt(createdFrom));
  if (createdTo !== undefined) narrow('id < ?', firstIdAt(createdTo + 1));
  const columns = LIST_COLUMNS;
  const narrowed = where.join(' and ');
  if (search !== undefined) {
    const prefix = search.startsWith('/') ? search : `/${search}`;
    const list = { table: 'request_logs', columns, teamId, where: { sql: narrowed, values } };
    return prefixPage<LogListRow>(db, { ...list, column: 'endpoint', prefix }, page);
  }
  const sql = pageSql('request_logs', `team_id = ? and ${narrowed}`, page, columns);
  return cutPage(await db.all<LogListRow>(sql, [teamId, ...values, ...pageValues(page)]), page);
}

/** Returns which of these teams have a log from before their time. */
export async function teamsWithLogsBefore(
  db: Executor,
  teams: readonly { teamId: string; before: number }[],
): Promise<string[]> {
  const list = teams.map(({ teamId, before }) => ({ team: teamId, before_id: firstIdAt(before) }));
  const rows = await db.all<{ team: string }>(
    `select t.team from ${db.dialect === 'pg' ? TEAMS_ON_PG : TEAMS_ON_SQLITE} as t
      where exists (select 1 from request_logs where team_id = t.team and id < t.before_id)`,
    [JSON.stringify(list)],
  );
  return rows.map((row) => row.team);
}

const TEAMS_ON_PG = '(select * from jsonb_to_recordset(?::jsonb) as r(team uuid, before_id uuid))';
const TEAMS_ON_SQLITE = `(select json_extract(value, '$.team') as team,
  json_extract(value, '$.before_id') as before_id from json_each(?))`;

/** Deletes old logs; returns how many. `limit` keeps the call short enough for others to run in between. */
export function deleteLogsBefore(db: Executor, teamId: string, before: number, limit: number): Promise<number> {
  const oldest = 'select id from request_logs where team_id = ? and id < ? order by id limit ?';
  return db.run(`delete from request_logs where team_id = ? and id in (${oldest})`, [
    teamId,
    teamId,
    firstIdAt(before),
    limit,
  ]);
}
