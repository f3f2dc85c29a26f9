import { notFound } from '../../platform/refusal/index.ts';
import type { Ctx } from '../../tenancy/access/index.ts';
import { findEmail } from '../../mail/emails/index.ts';
import { removeSharesOf } from './shares.store.ts';

export async function revokeShares(ctx: Ctx, emailId: string) {
  const { clock, db } = ctx.store;
  const removed = await db.tx(async (tx) => {
    if (!(await findEmail(tx, ctx.teamId, emailId))) throw notFound('Email');
    return removeSharesOf(tx, [emailId]);
  });
  const now = clock.now();
  const revoked = removed.filter((share) => share.expires_at > now).length;
  return { object: 'email' as const, id: emailId, revoked };
}
