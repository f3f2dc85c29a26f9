import type { Role } from '../../../contract/index.ts';
import { cutPage, pageSql, pageValues, type Executor, type Page } from '../../../platform/db/index.ts';
import { firstIdAt } from '../../../platform/ids.ts';

/** Stands for the operator in `invited_by`; no user has this id. */
export const BY_OPERATOR = '00000000-0000-0000-0000-000000000000';

export interface InvitationRow {
  id: string;
  team_id: string;
  email: string;
  email_key: string;
  role: Role;
  token_hash: string;
  /** A person, or `BY_OPERATOR`. */
  invited_by: string;
  created_at: number;
  expires_at: number;
  /** Time at which the mail was sent or failed; null while it is pending. */
  mailed_at: number | null;
  /** Reason why no mail was sent. */
  fault: string | null;
  accepted_at: number | null;
}

export type ListedInvitation = InvitationRow & { inviter: string | null };

const COLUMNS = [
  'id',
  'team_id',
  'email',
  'email_key',
  'role',
  'token_hash',
  'invited_by',
  'created_at',
  'expires_at',
  'mailed_at',
  'fault',
  'accepted_at',
] as (keyof InvitationRow)[];

export const insertInvitation = (tx: Executor, row: InvitationRow): Promise<number> =>
  tx.insertMany('team_invitations', COLUMNS, [COLUMNS.map((column) => row[column])]);

export async function openInvitations(
  db: Executor,
  teamId: string,
  page: Page,
): Promise<{ rows: ListedInvitation[]; hasMore: boolean }> {
  const inviter = '(select email from users where users.id = team_invitations.invited_by) as inviter';
  const sql = pageSql(
    'team_invitations',
    'team_id = ? and accepted_at is null',
    page,
    `team_invitations.*, ${inviter}`,
  );
  return cutPage(await db.all<ListedInvitation>(sql, [teamId, ...pageValues(page)]), page);
}

export const findOpenInvitation = (db: Executor, teamId: string, id: string): Promise<InvitationRow | undefined> =>
  db.get<InvitationRow>('select * from team_invitations where team_id = ? and id = ? and accepted_at is null', [
    teamId,
    id,
  ]);

export const findOpenInvitationTo = (
  db: Executor,
  teamId: string,
  emailKey: string,
): Promise<InvitationRow | undefined> =>
  db.get<InvitationRow>('select * from team_invitations where team_id = ? and email_key = ? and accepted_at is null', [
    teamId,
    emailKey,
  ]);

export const findInvitationByToken = (db: Executor, tokenHash: string): Promise<InvitationRow | undefined> =>
  db.get<InvitationRow>('select * from team_invitations where token_hash = ?', [tokenHash]);

export async function countOpenInvitations(tx: Executor, teamId: string, now: number): Promise<number> {
  const sql = 'select count(*) as n from team_invitations where team_id = ? and accepted_at is null and expires_at > ?';
  return Number((await tx.get<{ n: number }>(sql, [teamId, now]))?.n);
}

export const removeInvitation = (tx: Executor, id: string): Promise<number> =>
  tx.run('delete from team_invitations where id = ? and accepted_at is null', [id]);

/** Removes open invitations of all teams, including expired ones. */
export const removeAllOpenInvitations = (tx: Executor): Promise<number> =>
  tx.run('delete from team_invitations where accepted_at is null');

export const noteAccepted = (tx: Executor, id: string, at: number): Promise<number> =>
  tx.run('update team_invitations set accepted_at = ? where id = ? and accepted_at is null', [at, id]);

/** Returns the oldest invitations that were not mailed yet; an expired one is not mailed any more. */
export const unmailedInvitations = (db: Executor, now: number, limit: number): Promise<InvitationRow[]> =>
  db.all<InvitationRow>(
    'select * from team_invitations where mailed_at is null and expires_at > ? order by id limit ?',
    [now, limit],
  );

export const noteInvitationMailed = (
  db: Executor,
  id: string,
  { at, fault }: { at: number; fault: string | null },
): Promise<number> => db.run('update team_invitations set mailed_at = ?, fault = ? where id = ?', [at, fault, id]);

/** Removes invitations that ended before this time, accepted or not. */
export const removeInvitationsEndedBefore = (db: Executor, before: number): Promise<number> =>
  db.run('delete from team_invitations where expires_at < ? and id < ?', [before, firstIdAt(before)]);
