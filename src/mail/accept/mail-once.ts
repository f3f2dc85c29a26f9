import { Refusal } from '../../platform/refusal/index.ts';
import type { World } from '../../platform/world/index.ts';
import type { Ctx } from '../../tenancy/access/index.ts';
import type { Accept } from './accept-email.ts';
import { hashRequest } from './idempotency.ts';
import type { AcceptedAs } from './rows.ts';

export interface OwnMail {
  teamId: string;
  /** The job that sends it. */
  job: string;
  /** What is sent, and for which occasion: one mail goes out, even if the process dies before that is noted. */
  kind: string;
  occasion: string;
  input: Parameters<Accept['acceptEmail']>[1];
  as?: AcceptedAs;
}

/** No client can send it within a header, so that no key of a team is one of ours. */
const OWN_KEYS = '\u0001';

/** Sends mail on behalf of a team, through accept like all mail; returns the reason if it was refused. */
export async function mailOnce(
  world: World,
  accept: Pick<Accept, 'acceptEmail'>,
  { teamId, job, kind, occasion, input, as }: OwnMail,
): Promise<string | undefined> {
  const requestId = world.ids.prefixed('req_');
  const ctx: Ctx = { store: world, teamId, actor: { kind: 'job', name: job }, requestId };
  const key = `${OWN_KEYS}${kind} ${occasion}`;
  try {
    await accept.acceptEmail(ctx, input, { key, requestHash: hashRequest(kind, key) }, as);
    return undefined;
  } catch (error) {
    if (!(error instanceof Refusal) || error.errorName === 'service_unavailable') throw error;
    return error.message;
  }
}
