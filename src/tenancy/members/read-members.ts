import { isoTime } from '../../platform/clock/index.ts';
import type { Page } from '../../platform/db/index.ts';
import { notFound } from '../../platform/refusal/index.ts';
import type { Ctx } from '../access/index.ts';
import { findMember, listMemberRows, type MemberRow } from './members.store.ts';
import { mustBeOwnTeam } from './own-team.ts';

/** The people of the credential's own team. */
export async function listMembers({ store, teamId }: Ctx, page: Page) {
  const { rows, hasMore } = await listMemberRows(store.db, teamId, page);
  return { object: 'list' as const, has_more: hasMore, data: rows.map(presentMember) };
}

export async function listTeamMembers(ctx: Ctx, named: string, page: Page) {
  mustBeOwnTeam(ctx, named);
  return listMembers(ctx, page);
}

export async function getTeamMember(ctx: Ctx, named: string, id: string) {
  mustBeOwnTeam(ctx, named);
  const row = await findMember(ctx.store.db, ctx.teamId, id);
  if (!row) throw notFound('Member');
  return presentMember(row);
}

export const presentMember = (row: MemberRow) => ({
  object: 'team_member' as const,
  id: row.id,
  user_id: row.user_id,
  email: row.email,
  name: row.name,
  role: row.role,
  disabled: row.disabled_at !== null,
  mfa_enabled: row.mfa_enabled_at !== null,
  sso_exempt: row.sso_exempt === 1,
  created_at: isoTime(row.created_at),
});
