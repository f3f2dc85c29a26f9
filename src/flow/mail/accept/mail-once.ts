import { Refusal } from '../../../platform/refusal/index.ts';
import type { World } from '../../../platform/world/index.ts';
import type { Ctx } from '../../../resources/access/index.ts';
import type { Accept } from './accept-email.ts';
import { hashRequest } from './idempotency.ts';

export interface OwnMail {
  teamId: string;
  /** The job that sends it. */
  job: string;
  /** What is sent, and to which occasion: one such mail goes out, whatever dies between it and the note of it. */
  kind: string;
  occasion: string;
  input: Parameters<Accept['acceptEmail']>[1];
}

/** Mails on behalf of a team, through the same door as all mail; answers why it was refused, if it was. */
export async function mailOnce(
  world: World,
  accept: Pick<Accept, 'acceptEmail'>,
  { teamId, job, kind, occasion, input }: OwnMail,
): Promise<string | undefined> {
  const requestId = world.ids.prefixed('req_');
  const ctx: Ctx = { store: world, teamId, actor: { kind: 'job', name: job }, requestId };
  const key = `${kind} ${occasion}`;
  try {
    await accept.acceptEmail(ctx, input, { key, requestHash: hashRequest(kind, key) });
    return undefined;
  } catch (error) {
    if (!(error instanceof Refusal) || error.errorName === 'service_unavailable') throw error;
    return error.message;
  }
}
