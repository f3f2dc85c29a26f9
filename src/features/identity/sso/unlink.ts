import { notFound } from '../../../platform/refusal/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { findMember, lockPeople, mustBeOwnTeam, mustRule, presentMember } from '../../../tenancy/members/index.ts';
import { endSsoSessions } from '../../../tenancy/session-rows/index.ts';
import { findConnection, removeIdentity } from '../../../tenancy/sso-rows/index.ts';
import { noConnection } from './connection.ts';
import { endWhatSsoBegan } from './end-what-it-began.ts';

/** The next sign-in through the provider links the person anew, by the address. */
export async function unlinkTeamMember(ctx: Ctx, place: { teamId: string; memberId: string }) {
  mustBeOwnTeam(ctx, place.teamId);
  return ctx.store.db.tx(async (tx) => {
    const caller = await lockPeople(tx, ctx);
    const member = await findMember(tx, ctx.teamId, place.memberId);
    if (!member) throw notFound('Member');
    mustRule(caller.role, 'change', [member.role]);
    const connection = await findConnection(tx, ctx.teamId);
    if (!connection) throw noConnection();
    await endSsoSessions(tx, ctx.teamId, member.user_id);
    const isConcerned = ({ user_id: id }: { user_id: string }) => id === member.user_id;
    await endWhatSsoBegan(tx, ctx.store, ctx.teamId, { isConcerned, by: 'user' });
    await removeIdentity(tx, connection.id, member.user_id);
    return presentMember(member);
  });
}
