import { isoTime } from '../../platform/clock/index.ts';
import { Refusal } from '../../platform/refusal/index.ts';
import type { World } from '../../platform/world/index.ts';
import type { Ctx } from '../../resources/access/index.ts';
import { hashRequest, type Accept } from '../accept/index.ts';
import { noteTold, untold, type DisabledEndpoint } from './notify.store.ts';
import { senderDomain } from './sender-domain.store.ts';

/**
 * Mails a team's admins that an endpoint was disabled, once, through the same door as all mail. What cannot be mailed
 * stands in the log, because somebody has to learn of it.
 */
export function createTellAdmins(world: World, accept: Pick<Accept, 'acceptEmail'>): () => Promise<void> {
  let isTelling = false;
  return async () => {
    if (isTelling) return;
    isTelling = true;
    try {
      for (const endpoint of await untold(world.db)) await tell(world, accept, endpoint);
    } catch (error) {
      // Tried again before long: nothing was noted.
      world.log.error({ err: error }, 'could not tell a team that a webhook was disabled');
    }
    isTelling = false;
  };
}

async function tell(world: World, accept: Pick<Accept, 'acceptEmail'>, endpoint: DisabledEndpoint): Promise<void> {
  const why = await send(world, accept, endpoint);
  if (why !== undefined) {
    const { id: webhookId, team_id: teamId, endpoint: url } = endpoint;
    world.log.error({ webhookId, teamId, endpoint: url }, `a webhook was disabled and no admin could be told: ${why}`);
  }
  await noteTold(world.db, endpoint.id, world.clock.now());
}

/** Answers why nobody could be told. */
async function send(
  world: World,
  accept: Pick<Accept, 'acceptEmail'>,
  endpoint: DisabledEndpoint,
): Promise<string | undefined> {
  const to = endpoint.admin_emails === null ? [] : (JSON.parse(endpoint.admin_emails) as string[]);
  if (to.length === 0) return 'the team has no admin addresses; set them with rasket teams update --admin';
  const from = await senderDomain(world.db, world.config.instance.host, endpoint.team_id);
  if (!from) return 'neither this installation nor the team has a verified domain to send from';
  const input = { from: `rasket <notifications@${from.name}>`, to, ...wordsFor(endpoint) };
  const requestId = world.ids.prefixed('req_');
  const ctx: Ctx = { world, teamId: from.team_id, actor: { kind: 'operator' }, requestId };
  // A crash between the mail and the note below sends nothing twice.
  const key = `webhook-disabled ${endpoint.id} ${endpoint.disabled_at}`;
  try {
    await accept.acceptEmail(ctx, input, { key, requestHash: hashRequest('webhook-disabled', key) });
    return undefined;
  } catch (error) {
    if (!(error instanceof Refusal) || error.errorName === 'service_unavailable') throw error;
    return error.message;
  }
}

function wordsFor({ id, endpoint, disabled_at: disabledAt, failing_since: since }: DisabledEndpoint) {
  return {
    subject: `Webhook disabled: ${new URL(endpoint).host}`,
    text: [
      `The webhook endpoint ${endpoint} (${id}) was disabled at ${isoTime(disabledAt)}.`,
      since === null ? '' : `No delivery to it has succeeded since ${isoTime(since)}.`,
      'Events go on being recorded for it, but nothing is sent. When the endpoint works again, set its status back to',
      `"enabled" (PATCH /webhooks/${id}). New events are sent from then on; those recorded meanwhile can be replayed.`,
    ]
      .filter((line) => line !== '')
      .join('\n'),
  };
}
