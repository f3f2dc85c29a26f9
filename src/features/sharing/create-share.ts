import type { BodyOf } from '../../contract/index.ts';
import { notFound, refuse } from '../../platform/refusal/index.ts';
import { hashToken, newToken } from '../../platform/secrets/index.ts';
import type { Ctx } from '../../tenancy/access/index.ts';
import { findEmail, isWithheld } from '../../mail/emails/index.ts';
import { mustBeWithinQuota } from '../../tenancy/usage/index.ts';
import { readExpiresIn } from './read-expires-in.ts';
import { insertShare } from './shares.store.ts';

/** A prefix of its own lets scanners of logs and repositories recognise what they found. */
const PREFIX = 'rs_';

export async function createShare(ctx: Ctx, emailId: string, input: BodyOf<'createShare'>) {
  const { clock, db, origin } = ctx.store;
  const lifeMs = readExpiresIn(input.expires_in);
  const token = newToken(PREFIX);
  const now = clock.now();
  await db.tx(async (tx) => {
    const email = await findEmail(tx, ctx.teamId, emailId);
    if (!email) throw notFound('Email');
    if (isWithheld(ctx.store, email)) throw withheld();
    await mustBeWithinQuota(ctx, tx);
    const row = { token_hash: hashToken(token), email_id: emailId, created_at: now, expires_at: now + lifeMs };
    await insertShare(tx, row);
  });
  return { object: 'email' as const, id: emailId, url: `${origin()}/share/${token}` };
}

const withheld = () =>
  refuse('invalid_permission', { say: 'This email holds a link that is its recipient’s alone; it cannot be shared.' });
