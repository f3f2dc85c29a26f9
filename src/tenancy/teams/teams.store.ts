import type { TeamObject } from '../../contract/index.ts';
import { isUuid } from '../../platform/ids.ts';
import {
  cutPage,
  pageSql,
  pageValues,
  uuidsIn,
  type Executor,
  type Page,
  type Value,
} from '../../platform/db/index.ts';

export type RiskState = 'normal' | 'suspended';

export interface TeamRow {
  id: string;
  name: string;
  slug: string;
  risk_state: RiskState;
  plan_code: string;
  created_at: number;
  sender_name: string | null;
  /** A JSON object. */
  postal_address: string | null;
  ai_assist_enabled: number;
  /** A JSON array; null if none was named. */
  admin_emails: string | null;
  /** The operator's reason for a suspension. */
  risk_reason: string | null;
  /** The language of pages and footers for readers whose own is unknown. */
  default_language: TeamObject['default_language'];
  /** Key of the contact property that names a reader's language; null for the usual ones. */
  language_property: string | null;
  /** An image at the top of the pages for recipients. */
  logo_url: string | null;
  /** `#` and six lower-case hexadecimal digits. */
  accent_color: string | null;
  page_headline: string | null;
  page_intro: string | null;
  page_goodbye: string | null;
  /** JSON of the largest number of marketing emails for a contact; null without a limit. */
  marketing_cap: string | null;
  /** 1 if the team has a public archive of broadcasts. */
  archive_enabled: number;
  /** 1 if search engines may list the archive. */
  archive_indexed: number;
  /** The random part of the address of the archive; null until the archive is first switched on. */
  archive_token: string | null;
}

/** The columns of a new team; the others are set later. */
export type NewTeamRow = Pick<
  TeamRow,
  'id' | 'name' | 'slug' | 'risk_state' | 'plan_code' | 'created_at' | 'admin_emails'
>;

export async function insertTeam(tx: Executor, team: NewTeamRow): Promise<void> {
  await tx.insertMany(
    'teams',
    ['id', 'name', 'slug', 'risk_state', 'plan_code', 'created_at', 'admin_emails'],
    [[team.id, team.name, team.slug, team.risk_state, team.plan_code, team.created_at, team.admin_emails]],
  );
  await insertTeamPlan(tx, { id: team.id, teamId: team.id, code: team.plan_code, since: team.created_at });
}

/** A plan that a team has from a moment on. */
export interface TeamPlan {
  code: string;
  since: number;
}

export async function insertTeamPlan(tx: Executor, row: TeamPlan & { id: string; teamId: string }): Promise<void> {
  const columns = ['id', 'team_id', 'plan_code', 'since'];
  await tx.insertMany('team_plans', columns, [[row.id, row.teamId, row.code, row.since]]);
}

/** Lists the plans that a team has had, oldest first. */
export async function plansOfTeam(db: Executor, teamId: string): Promise<TeamPlan[]> {
  const sql = 'select plan_code, since from team_plans where team_id = ? order by since, id';
  const rows = await db.all<{ plan_code: string; since: number }>(sql, [teamId]);
  return rows.map((row) => ({ code: row.plan_code, since: Number(row.since) }));
}

/** Counts the teams of each plan, by its code. */
export async function countByPlan(db: Executor): Promise<Map<string, number>> {
  const rows = await db.all<{ plan_code: string; teams: number }>(
    'select plan_code, count(*) as teams from teams group by plan_code order by plan_code',
  );
  return new Map(rows.map((row) => [row.plan_code, Number(row.teams)]));
}

/** Reports whether the installation has one team only. */
export async function hasOneTeam(db: Executor): Promise<boolean> {
  return (await db.all('select id from teams limit 2')).length === 1;
}

export const listTeams = (db: Executor): Promise<TeamRow[]> => db.all<TeamRow>('select * from teams order by id');

/** Returns the slugs of these teams, by their ids. */
export async function loadSlugs(db: Executor, ids: readonly string[]): Promise<Map<string, string>> {
  const among = uuidsIn(db.dialect, 'id', ids);
  const rows = await db.all<{ id: string; slug: string }>(`select id, slug from teams where ${among.sql}`, [
    among.value,
  ]);
  return new Map(rows.map(({ id, slug }) => [id, slug]));
}

/** Lists the teams that a person is in. */
export async function listUserTeams(
  db: Executor,
  { userId, ssoTeamId }: { userId: string; ssoTeamId: string | null },
  page: Page,
): Promise<{ rows: TeamRow[]; hasMore: boolean }> {
  const [more, values] = ssoTeamId === null ? ['', []] : [' and id = ?', [ssoTeamId]];
  const sql = pageSql('teams', `id in (select team_id from team_members where user_id = ?)${more}`, page);
  return cutPage(await db.all<TeamRow>(sql, [userId, ...values, ...pageValues(page)]), page);
}

export const findTeam = (db: Executor, id: string): Promise<TeamRow | undefined> =>
  db.get<TeamRow>('select * from teams where id = ?', [id]);

/** Uses one query for addresses that never existed, were renewed or are off, so that their responses take the same time. */
export const findTeamOfArchive = (db: Executor, token: string): Promise<TeamRow | undefined> =>
  db.get<TeamRow>('select * from teams where archive_token = ? and archive_enabled = 1', [token]);

export async function suspendedAmong(db: Executor, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  const among = uuidsIn(db.dialect, 'id', ids);
  const sql = `select id from teams where ${among.sql} and risk_state = 'suspended'`;
  return (await db.all<{ id: string }>(sql, [among.value])).map((row) => row.id);
}

export async function suspendedTeams(db: Executor): Promise<string[]> {
  const sql = "select id from teams where risk_state = 'suspended'";
  return (await db.all<{ id: string }>(sql)).map((row) => row.id);
}

/** Finds a team by its id or its slug. The id comes first, so that no name of a team can stand for another one. */
export async function findNamedTeam(db: Executor, slugOrId: string): Promise<TeamRow | undefined> {
  const identified = isUuid(slugOrId) ? await findTeam(db, slugOrId.toLowerCase()) : undefined;
  return identified ?? db.get<TeamRow>('select * from teams where slug = ?', [slugOrId]);
}

export type TeamColumns = Partial<Omit<TeamRow, 'id' | 'created_at'>>;

/** Gives a team a postal address unless it has one. */
export async function setMissingAddress(db: Executor, id: string, address: string): Promise<void> {
  await db.run('update teams set postal_address = ? where id = ? and postal_address is null', [address, id]);
}

/** Gives the archive of a team an address unless it has one. */
export async function setMissingArchiveToken(db: Executor, id: string, token: string): Promise<void> {
  await db.run('update teams set archive_token = ? where id = ? and archive_token is null', [token, id]);
}

/**
 * Changes a team; returns whether it was changed. `onlyWithAddress` leaves a team without a postal address as it is.
 */
export async function changeTeam(
  db: Executor,
  id: string,
  change: TeamColumns,
  { onlyWithAddress = false } = {},
): Promise<boolean> {
  const columns = Object.entries(change) as [string, Value][];
  const sql = `update teams set ${columns.map(([name]) => `${name} = ?`).join(', ')}
    where id = ? ${onlyWithAddress ? 'and postal_address is not null' : ''}`;
  return (await db.run(sql, [...columns.map(([, value]) => value), id])) === 1;
}
