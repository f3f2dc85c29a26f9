/** Makes what a team has in addition to its mail: an endpoint that failed, an automation in progress, a planned broadcast. */
import type { World } from '../../src/platform/world.ts';
import type { Ctx } from '../../src/tenancy/access/index.ts';
import {
  createAutomation,
  listAutomations,
  createCustomEvent,
  findCustomEventNamed,
  sendCustomEvent,
} from '../../src/features/automations/index.ts';
import { createBroadcast, listBroadcasts } from '../../src/features/campaigns/index.ts';
import { createInbox, listInboxes } from '../../src/features/inbox/index.ts';
import { listSegments } from '../../src/features/audience/index.ts';
import { getTeam, updateTeam } from '../../src/tenancy/teams/index.ts';
import {
  changeWebhook,
  endpointLeases,
  leaseEndpoints,
  listWebhookEvents,
  recordAttempts,
  replayWebhookEvent,
} from '../../src/features/webhooks/index.ts';
import { parseEventId } from '../../src/mail/events/index.ts';
import { DOMAIN, PEOPLE } from './people.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const PAGE = { limit: 100 };

const FAILED = 6;
/** A server that is being deployed, and then one that does not know the route. */
const ANSWERS = [
  { status: 502, response: 'Bad Gateway', after: 0 },
  { status: 502, response: 'Bad Gateway', after: 5 * SECOND },
  { status: 404, response: '{"error":"no route for POST /hooks/rasket"}', after: 5 * MINUTE },
];

/** The last events of an endpoint were tried and failed. It is leased meanwhile: a server that runs must not post them. */
export async function failSome(ctx: Ctx, webhookId: string): Promise<void> {
  const { db, clock, ids } = ctx.store;
  const lease = { owner: ids.uuid(), now: clock.now(), until: clock.now() + 10 * MINUTE };
  const owned = await leaseEndpoints(db, [webhookId], lease);
  if (!owned.has(webhookId)) return;
  try {
    await changeWebhook(ctx, webhookId, { status: 'enabled' });
    const { data } = await listWebhookEvents(ctx, webhookId, {}, { limit: FAILED });
    for (const { id } of data) await failOne(ctx, webhookId, id);
  } finally {
    await changeWebhook(ctx, webhookId, { status: 'disabled' });
    await endpointLeases(db).release(webhookId, lease.owner);
  }
}

async function failOne(ctx: Ctx, webhookId: string, publicId: string): Promise<void> {
  const { store } = ctx;
  const eventId = parseEventId(publicId);
  if (eventId === undefined) return;
  // Two hours ago, so that none of it counts towards the limit of replays.
  const begin = store.clock.now() - 2 * HOUR;
  await replayWebhookEvent(
    { ...ctx, store: { ...store, clock: { ...store.clock, now: () => begin } } },
    webhookId,
    publicId,
  );
  let dueAt = begin;
  for (const [tries, { status, response, after }] of ANSWERS.entries()) {
    const next = ANSWERS[tries + 1];
    const sentAt = begin + after;
    const nextAt = next === undefined ? null : begin + next.after;
    await store.db.tx((tx) =>
      recordAttempts(tx, [
        {
          id: store.ids.uuid(),
          webhookId,
          eventId,
          status,
          response,
          error: null,
          durationMs: 84,
          sentAt,
          isSuccess: false,
          read: { dueAt, tries },
          nextAt,
        },
      ]),
    );
    dueAt = nextAt ?? dueAt;
  }
}

/** Mail to support@ becomes threads of this inbox. */
export async function addInbox(ctx: Ctx): Promise<void> {
  if ((await listInboxes(ctx, PAGE)).data.length > 0) return;
  await createInbox(ctx, { email_address: `support@${DOMAIN}`, name: 'Support' });
}

const ORDERS = 12;

/** Adds an automation that sends a thank-you a day after an order. With `told`, runs begin and wait until tomorrow. */
export async function addAutomation(ctx: Ctx, told: World | undefined): Promise<void> {
  const name = 'Thanks after an order';
  if ((await listAutomations(ctx, {}, PAGE)).data.some((one) => one.name === name)) return;
  const event = 'order.placed';
  if (!(await findCustomEventNamed(ctx.store.db, ctx.teamId, event))) {
    await createCustomEvent(ctx, { name: event, schema: { product: 'string' } });
  }
  await createAutomation(ctx, {
    name,
    status: 'enabled',
    steps: [
      { key: 'order', type: 'trigger', config: { event_name: event } },
      { key: 'a-day', type: 'delay', config: { duration: '1 day' } },
      { key: 'thanks', type: 'send_email', config: { template: { id: 'seed-welcome' } } },
    ],
    connections: [
      { from: 'order', to: 'a-day' },
      { from: 'a-day', to: 'thanks' },
    ],
  });
  if (!told) return;
  for (const { email } of PEOPLE.slice(20, 20 + ORDERS)) {
    await sendCustomEvent({ ...ctx, store: told }, { event, email, payload: { product: 'Tea' } });
  }
}

const DRAFT = 'Before the holidays';

/** Adds one broadcast for tomorrow, and one draft. */
export async function addBroadcasts(ctx: Ctx): Promise<void> {
  const there = (await listBroadcasts(ctx, {}, PAGE)).data.map(({ name }) => name);
  if (there.includes(DRAFT)) return;
  const { sender_identity: sender } = await getTeam(ctx);
  // The development server gives its team an address, but no name.
  if (sender.postal_address !== null && sender.sender_name === null) await updateTeam(ctx, { sender_name: 'Shop' });
  if (sender.postal_address === null) {
    const postal_address = { line1: '1 Example Street', city: 'Example', postal_code: '12345', country: 'DE' as const };
    await updateTeam(ctx, { sender_name: 'Shop', postal_address });
  }
  const segment = (await listSegments(ctx, {}, PAGE)).data.find(({ name }) => name === 'Reachable');
  const from = `Shop <news@${DOMAIN}>`;
  const html = '<p>Hello {{{FIRST_NAME|friend}}}, here is what is new.</p>';
  await createBroadcast(ctx, { from, subject: DRAFT, html, segment_id: segment?.id ?? null });
  await createBroadcast(ctx, {
    from,
    subject: 'What is new',
    html,
    segment_id: segment?.id ?? null,
    send: true,
    scheduled_at: new Date(ctx.store.clock.now() + DAY).toISOString(),
  });
}
