import { ROLES, type Role } from '../../contract/index.ts';
import { cutPage, pageSql, pageValues, uuidsIn, textsIn, type Executor, type Page } from '../../platform/db/index.ts';

interface MembershipRow {
  id: string;
  team_id: string;
  user_id: string;
  role: Role;
  sso_exempt: number;
  created_at: number;
}

/** The fields of a user that a team sees. */
interface PersonRow {
  id: string;
  email: string;
  name: string | null;
  mfa_enabled_at: number | null;
  disabled_at: number | null;
}

export type MemberRow = MembershipRow & Omit<PersonRow, 'id'>;

const COLUMNS = ['id', 'team_id', 'user_id', 'role', 'sso_exempt', 'created_at'] as const;

export const insertMember = (tx: Executor, row: MembershipRow): Promise<number> =>
  tx.insertMany('team_members', COLUMNS, [COLUMNS.map((column) => row[column])]);

export async function listMemberRows(
  db: Executor,
  teamId: string,
  page: Page,
): Promise<{ rows: MemberRow[]; hasMore: boolean }> {
  const sql = pageSql('team_members', 'team_id = ?', page);
  const { rows, hasMore } = cutPage(await db.all<MembershipRow>(sql, [teamId, ...pageValues(page)]), page);
  const among = uuidsIn(
    db.dialect,
    'id',
    rows.map((row) => row.user_id),
  );
  const people = await db.all<PersonRow>(
    `select id, email, name, mfa_enabled_at, disabled_at from users where ${among.sql}`,
    [among.value],
  );
  const byId = new Map(people.map(({ id, ...person }) => [id, person]));
  return { rows: rows.flatMap((row) => withPerson(row, byId.get(row.user_id))), hasMore };
}

const withPerson = (row: MembershipRow, person: Omit<PersonRow, 'id'> | undefined): MemberRow[] =>
  person ? [{ ...row, ...person }] : [];

const ONE = `select m.*, u.email, u.name, u.mfa_enabled_at, u.disabled_at from team_members m join users u on u.id = m.user_id`;

export const findMember = (db: Executor, teamId: string, id: string): Promise<MemberRow | undefined> =>
  db.get<MemberRow>(`${ONE} where m.team_id = ? and m.id = ?`, [teamId, id]);

export const findMemberByUser = (db: Executor, teamId: string, userId: string): Promise<MemberRow | undefined> =>
  db.get<MemberRow>(`${ONE} where m.team_id = ? and m.user_id = ?`, [teamId, userId]);

export const findMemberByEmail = (db: Executor, teamId: string, emailKey: string): Promise<MemberRow | undefined> =>
  db.get<MemberRow>(`${ONE} where m.team_id = ? and u.email_key = ?`, [teamId, emailKey]);

/** Reports whether the team has another owner who can sign in; reliable only while the team is locked. */
export async function hasOtherOwner(tx: Executor, { team_id: teamId, id }: MembershipRow): Promise<boolean> {
  const sql = `select 1 as found from team_members m join users u on u.id = m.user_id
    where m.team_id = ? and m.role = 'owner' and m.id <> ? and u.disabled_at is null limit 1`;
  return (await tx.get(sql, [teamId, id])) !== undefined;
}

/**
 * Counts the owners who can sign in with a password although single sign-on is enforced; reliable only while the team
 * is locked.
 */
export async function countExemptOwners(tx: Executor, teamId: string): Promise<number> {
  const sql = `select count(*) as n from team_members m join users u on u.id = m.user_id
    where m.team_id = ? and m.role = 'owner' and m.sso_exempt = 1 and u.password_hash is not null
      and u.disabled_at is null`;
  return Number((await tx.get<{ n: number }>(sql, [teamId]))?.n);
}

/** Lists the teams that enforce single sign-on and whose only owner who can sign in without it is this person. */
export async function teamsOfLastWayIn(db: Executor, userId: string): Promise<{ name: string; slug: string }[]> {
  return db.all(
    `select teams.name, teams.slug from team_members m join teams on teams.id = m.team_id
      join sso_connections c on c.team_id = m.team_id and c.enforced = 1
      where m.user_id = ? and m.role = 'owner' and m.sso_exempt = 1 and not exists (select 1 from team_members other
        join users u on u.id = other.user_id and u.password_hash is not null and u.disabled_at is null
        where other.team_id = m.team_id and other.user_id <> m.user_id and other.role = 'owner' and other.sso_exempt = 1)
      order by teams.slug`,
    [userId],
  );
}

export async function hasMembers(db: Executor, teamId: string): Promise<boolean> {
  return (await db.get('select 1 as found from team_members where team_id = ? limit 1', [teamId])) !== undefined;
}

export async function countOwned(tx: Executor, userId: string): Promise<number> {
  const sql = "select count(*) as n from team_members where user_id = ? and role = 'owner'";
  return Number((await tx.get<{ n: number }>(sql, [userId]))?.n);
}

/** Reports whether the person leads a team that the operator has suspended. */
export async function leadsSuspended(tx: Executor, userId: string): Promise<boolean> {
  const sql = `select 1 as found from team_members join teams on teams.id = team_members.team_id
    where user_id = ? and role in ('owner', 'admin') and risk_state <> 'normal' limit 1`;
  return (await tx.get(sql, [userId])) !== undefined;
}

export const setRole = (tx: Executor, id: string, role: Role): Promise<number> =>
  tx.run('update team_members set role = ? where id = ?', [role, id]);

export const setExempt = (tx: Executor, id: string, isExempt: number): Promise<number> =>
  tx.run('update team_members set sso_exempt = ? where id = ?', [isExempt, id]);

export const removeMemberRow = (tx: Executor, id: string): Promise<number> =>
  tx.run('delete from team_members where id = ?', [id]);

export interface AccountRow {
  id: string;
  email: string;
  email_key: string;
  email_verified_at: number | null;
}

/** Finds the account of a session. */
export const findAccount = (db: Executor, userId: string): Promise<AccountRow | undefined> =>
  db.get<AccountRow>('select id, email, email_key, email_verified_at from users where id = ?', [userId]);

/** Locks the account as well, so that one caller at a time counts what it may have. */
export const lockAccount = (tx: Executor, userId: string): Promise<AccountRow | undefined> =>
  tx.get<AccountRow>(
    `select id, email, email_key, email_verified_at from users where id = ? ${tx.dialect === 'pg' ? 'for no key update' : ''}`,
    [userId],
  );

/** Withdraws the open invitations that a person has sent in a team, except those to the roles that are `kept`. */
export function withdrawInvitations(
  tx: Executor,
  { userId, teamId }: { userId: string; teamId: string },
  kept: readonly Role[],
): Promise<number> {
  const gone = textsIn(
    tx.dialect,
    'role',
    ROLES.filter((role) => !kept.includes(role)),
  );
  const sql = `delete from team_invitations where team_id = ? and invited_by = ? and accepted_at is null and ${gone.sql}`;
  return tx.run(sql, [teamId, userId, gone.value]);
}

/** Withdraws the open invitations that a person has sent in all teams; returns how many there were. */
export const withdrawAllInvitations = (tx: Executor, userId: string): Promise<number> =>
  tx.run('delete from team_invitations where invited_by = ? and accepted_at is null', [userId]);

/** Withdraws the open invitations to a person who is, or was, in the team. */
export const withdrawInvitationsTo = (
  tx: Executor,
  { userId, teamId }: { userId: string; teamId: string },
): Promise<number> =>
  tx.run(
    `delete from team_invitations where team_id = ? and accepted_at is null
      and email_key = (select email_key from users where id = ?)`,
    [teamId, userId],
  );
