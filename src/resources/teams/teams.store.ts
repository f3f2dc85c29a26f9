import { isUuid } from '../../platform/ids/index.ts';
import { pageOf, pageSql, pageValues, uuidsIn, type Executor, type Page, type Value } from '../../platform/db/index.ts';

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
  /** A JSON array; null where nobody was named. */
  admin_emails: string | null;
}

/** What a team is born with; the rest has not been said yet. */
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
}

export const listTeams = (db: Executor): Promise<TeamRow[]> => db.all<TeamRow>('select * from teams order by id');

/** The teams that a person is in. */
export async function teamsOf(
  db: Executor,
  { userId, ssoTeamId }: { userId: string; ssoTeamId: string | null },
  page: Page,
): Promise<{ rows: TeamRow[]; hasMore: boolean }> {
  const [more, values] = ssoTeamId === null ? ['', []] : [' and id = ?', [ssoTeamId]];
  const sql = pageSql('teams', `id in (select team_id from team_members where user_id = ?)${more}`, page);
  return pageOf(await db.all<TeamRow>(sql, [userId, ...values, ...pageValues(page)]), page);
}

export const findTeam = (db: Executor, id: string): Promise<TeamRow | undefined> =>
  db.get<TeamRow>('select * from teams where id = ?', [id]);

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

/** By its slug or its id; a slug that looks like an id comes first, because its team has no other name. */
export async function findNamedTeam(db: Executor, slugOrId: string): Promise<TeamRow | undefined> {
  const named = await db.get<TeamRow>('select * from teams where slug = ?', [slugOrId]);
  return named ?? (isUuid(slugOrId) ? findTeam(db, slugOrId.toLowerCase()) : undefined);
}

export type TeamColumns = Partial<Omit<TeamRow, 'id' | 'slug' | 'created_at'>>;

/** `onlyWithAddress` leaves a team without a postal address as it is. Answers whether the team was changed. */
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
