/**
 * Fills a team of a development server with an invented month, so that lists, metrics and the console have something to
 * show. Existing data is left as it is; nothing is sent anywhere, and to webhooks only on request.
 */
import { withoutWebhooks } from '../../src/mail/events/index.ts';
import { createAccept } from '../../src/mail/accept/index.ts';
import { createMessageParser, createStoreMessage, heldContent } from '../../src/mail/receive/index.ts';
import { createGroupCommit } from '../../src/platform/db/index.ts';
import type { World } from '../../src/platform/world.ts';
import type { Ctx } from '../../src/tenancy/access/index.ts';
import {
  createContact,
  createSegment,
  listSegments,
  createTopic,
  listTopics,
} from '../../src/features/audience/index.ts';
import { createVerifiedDomain, findDomainByName, registerDomain } from '../../src/mail/domains/index.ts';
import { createTemplate, listTemplates, publishTemplate } from '../../src/features/templates/index.ts';
import { addWebhook, disableWebhook, listWebhooks } from '../../src/features/webhooks/index.ts';
import { seedDay, addSentBroadcast } from './mail.ts';
import { DOMAIN, PEOPLE, SECOND_DOMAIN } from './people.ts';
import { addAutomation, addBroadcasts, addInbox, failSome } from './scenes.ts';

const DAY = 24 * 60 * 60 * 1000;
/** Retention removes data older than thirty days. */
const DAYS = 28;
const HOOK = `https://${DOMAIN}/hooks/rasket`;
const PAGE = { limit: 100 };
const ACTOR: Ctx['actor'] = { kind: 'job', name: 'seed' };

export interface Seeded {
  emails: number;
  contacts: number;
  received: number;
}

export interface Seeding {
  teamId: string;
  /** True when the team's webhooks and listeners are notified, as for any other event. */
  isTold: boolean;
  progress: (done: number, of: number) => void;
}

export async function seed(whole: World, { teamId, isTold, progress }: Seeding): Promise<Seeded> {
  const hook = await addHook({ store: whole, teamId, actor: ACTOR, requestId: 'seed' });
  const db = isTold ? whole.db : withoutWebhooks(whole.db, hook);
  const world: World = { ...whole, db, commits: createGroupCommit(db) };
  const now = world.clock.now();
  const today = now - (now % DAY);
  const begin = today - (DAYS - 1) * DAY;
  const early: World = { ...world, clock: { ...world.clock, now: () => begin } };
  const ctx: Ctx = { store: world, teamId, actor: ACTOR, requestId: 'seed' };
  const found = await findDomainByName(world.db, teamId, DOMAIN);
  const domain = found ?? (await createVerifiedDomain(early, teamId, DOMAIN));
  let emails = 0;
  for (let day = 0; day < DAYS; day++) {
    progress(day, DAYS);
    emails += await seedDay(world, domain, begin + day * DAY, now);
  }
  progress(DAYS, DAYS);
  // The last step marks the others as done: a run that was killed before it does them again, and each finds its own.
  if (await findDomainByName(world.db, teamId, SECOND_DOMAIN)) return { emails, contacts: 0, received: 0 };
  await addAudience(ctx);
  await addTemplates(ctx);
  await addInbox(ctx);
  const received = await receiveSome(world, teamId, now);
  await scheduleSome(world, ctx, now);
  // The server processes runs and notifies webhooks of them: runs begin only when nobody would be notified, or all
  // should be.
  const isAlone = (await listWebhooks(ctx, PAGE)).data.length === 1;
  await addAutomation(ctx, isTold || isAlone ? whole : undefined);
  await addBroadcasts(ctx);
  emails += await addSentBroadcast(world, ctx, domain);
  await failSome(ctx, hook);
  await registerDomain(ctx, { name: SECOND_DOMAIN });
  return { emails, contacts: PEOPLE.length, received };
}

/** Disabled, so that its deliveries wait to be looked at instead of being tried at a name that belongs to nobody. */
async function addHook(ctx: Ctx): Promise<string> {
  const found = (await listWebhooks(ctx, PAGE)).data.find(({ endpoint }) => endpoint === HOOK);
  if (found) return found.id;
  const { id } = await addWebhook(ctx, { endpoint: HOOK, events: ['email.bounced', 'email.complained'] });
  await disableWebhook(ctx.store, id, 'manual');
  return id;
}

async function addAudience(ctx: Ctx): Promise<void> {
  const topics = (await listTopics(ctx, PAGE)).data.map(({ name }) => name);
  for (const name of ['Product news', 'Offers']) {
    if (!topics.includes(name)) {
      await createTopic(ctx, { name, default_subscription: 'opt_in', visibility: 'public' });
    }
  }
  const segments = (await listSegments(ctx, {}, PAGE)).data.map(({ name }) => name);
  const wanted = [
    { name: 'Reachable', field: 'unsubscribed', op: 'eq', value: false },
    { name: 'At example.net', field: 'email', op: 'contains', value: 'example.net' },
  ] as const;
  for (const { name, ...filter } of wanted) if (!segments.includes(name)) await createSegment(ctx, { name, filter });
  for (const [i, { first, last, email }] of PEOPLE.entries()) {
    await createContact(ctx, {
      email,
      first_name: first,
      last_name: last,
      ...(i % 11 === 0 ? { unsubscribed: true } : {}),
    });
  }
}

async function addTemplates(ctx: Ctx): Promise<void> {
  const there = (await listTemplates(ctx, PAGE)).data.map(({ alias }) => alias);
  const from = `Shop <hello@${DOMAIN}>`;
  for (const alias of ['seed-welcome', 'seed-receipt']) {
    if (there.includes(alias)) continue;
    const subject = alias === 'seed-welcome' ? 'Welcome, {{{NAME|friend}}}' : 'Your receipt';
    const html = '<p>Hello {{{NAME|friend}}}, thank you.</p>';
    const variables = [{ key: 'NAME', type: 'string' as const, fallback_value: 'friend' }];
    const { id } = await createTemplate(ctx, {
      name: subject.split(',')[0] ?? alias,
      alias,
      from,
      subject,
      html,
      variables,
    });
    // The other one stays a draft.
    if (alias === 'seed-welcome') await publishTemplate(ctx, id);
  }
}

const QUESTIONS = [
  'Where is my order?',
  'A wrong invoice',
  'Can I change the address?',
  'Thank you',
  'Two of them came',
];

/** Messages that exist already are recognized by their Message-ID. */
async function receiveSome(world: World, teamId: string, now: number): Promise<number> {
  const parser = createMessageParser(world);
  const storeMessage = createStoreMessage(world);
  const to = `support@${DOMAIN}`;
  try {
    for (const [i, subject] of QUESTIONS.entries()) {
      const { first, last, email } = PEOPLE[i * 7] ?? { first: '', last: '', email: '' };
      const raw = Buffer.from(
        [
          `From: ${first} ${last} <${email}>`,
          `To: ${to}`,
          `Subject: ${subject}`,
          `Message-ID: <seed-${i}@example.org>`,
          `Date: ${new Date(now - (i + 1) * DAY).toUTCString()}`,
          'Content-Type: text/plain; charset=utf-8',
          '',
          `Hello,\r\n\r\n${subject}\r\n\r\n${first}`,
          '',
        ].join('\r\n'),
      );
      const client = { address: '192.0.2.1', name: 'mx.example.org' };
      const message = { mailFrom: email, raw, client, teams: new Map([[teamId, [to]]]), authentication: null };
      await storeMessage(message, await parser.parseMessage('seed', heldContent(raw)));
    }
  } finally {
    await parser.close();
  }
  return QUESTIONS.length;
}

/** Accepted as any other: tomorrow the development server catches them. */
async function scheduleSome(world: World, ctx: Ctx, now: number): Promise<void> {
  const accept = createAccept(world, () => undefined);
  for (const { email } of PEOPLE.slice(0, 3)) {
    await accept.acceptEmail(ctx, {
      from: `Shop <hello@${DOMAIN}>`,
      to: email,
      subject: 'A reminder',
      text: 'Tomorrow it is.',
      scheduled_at: new Date(now + DAY).toISOString(),
    });
  }
}
