import { isoTime } from '../../../platform/clock/index.ts';
import { createUnleasedLoop, type WorkLoop } from '../../../platform/work-loop/index.ts';
import type { World } from '../../../platform/world/index.ts';
import { noticeDomain } from '../../../mail/domains/index.ts';
import { noteTold } from '../endpoints/index.ts';
import { mailOnce, type Accept } from '../../../mail/accept/index.ts';
import { untold, type DisabledEndpoint } from './admin-notices.store.ts';

/** Endpoints that another process disabled are found by polling alone. */
const POLL_MS = 10_000;
/** Mails that are composed at the same time. */
const AT_ONCE = 10;

/**
 * Mails a team's admins that an endpoint was disabled, once, through accept like all mail and from a domain of the
 * team's own: the owner of a mail's domain can read it in the API, and a team must not learn of another's endpoints. A
 * notice that cannot be mailed is logged, so that the operator learns of it.
 */
export function createAdminNotices(world: World, accept: Pick<Accept, 'acceptEmail'>): WorkLoop {
  const failed = new Set<string>();
  const { db, clock, log } = world;
  return createUnleasedLoop<DisabledEndpoint>({
    ...{ name: 'notices to admins', db, clock, log, pollMs: POLL_MS, atOnceMax: AT_ONCE, wakeOn: [] },
    // What failed is retried last, so that AT_ONCE failures do not block the others.
    due: async () =>
      (await untold(db)).toSorted((one, other) => Number(failed.has(one.id)) - Number(failed.has(other.id))),
    async carry(endpoint) {
      failed.add(endpoint.id);
      await tell(world, accept, endpoint);
      failed.delete(endpoint.id);
    },
    describe: ({ id }) => ({ webhookId: id }),
  });
}

async function tell(world: World, accept: Pick<Accept, 'acceptEmail'>, endpoint: DisabledEndpoint): Promise<void> {
  const why = await send(world, accept, endpoint);
  if (why !== undefined) {
    const { id: webhookId, team_id: teamId } = endpoint;
    world.log.error(
      { webhookId, teamId, host: hostOf(endpoint) },
      `a webhook was disabled and no admin could be told: ${why}`,
    );
  }
  await noteTold(world.db, endpoint.id, world.clock.now());
}

/** Returns why no admin could be told. */
async function send(
  world: World,
  accept: Pick<Accept, 'acceptEmail'>,
  endpoint: DisabledEndpoint,
): Promise<string | undefined> {
  const to = endpoint.admin_emails === null ? [] : (JSON.parse(endpoint.admin_emails) as string[]);
  if (to.length === 0) return 'the team has no admin addresses; set them with rasket teams update --admin';
  const domain = await noticeDomain(world.db, endpoint.team_id);
  if (domain === undefined) return 'the team has no verified domain to send from';
  const input = { from: `rasket <notifications@${domain}>`, to, ...wordsFor(endpoint) };
  return mailOnce(world, accept, {
    ...{ teamId: endpoint.team_id, job: 'admin-notices', input },
    ...{ kind: 'webhook-disabled', occasion: `${endpoint.id} ${endpoint.disabled_at}` },
  });
}

/** Paths and query strings of webhooks hold secrets: mail and log name the host alone. */
const hostOf = ({ endpoint }: DisabledEndpoint): string => URL.parse(endpoint)?.host ?? '';

function wordsFor(endpoint: DisabledEndpoint) {
  const { id, disabled_at: disabledAt, failing_since: failingSince } = endpoint;
  const host = hostOf(endpoint);
  const since = isoTime(failingSince ?? disabledAt);
  return {
    subject: `Webhook disabled: ${host}`,
    text: [
      `The webhook endpoint ${id} at ${host} was disabled at ${isoTime(disabledAt)}.`,
      ...(failingSince === null ? [] : [`No delivery to it has succeeded since ${since}.`]),
      '',
      'Events go on being recorded for it, but nothing is sent. When the endpoint works again, enable it:',
      `  rasket webhooks update ${id} --status enabled`,
      'What happens from then on is sent. To send what did not arrive before as well, replay it:',
      `  rasket webhooks replay --failed --parked --since ${since} --webhook ${id}`,
      'Parked are events that happened while the endpoint was disabled or that were waiting for their next attempt;',
      'failed are those whose ten attempts are over.',
    ].join('\n'),
  };
}
