import { foldLastEvent, type NewEvent, type EventDraft } from '../../src/mail/events/index.ts';
import { overlaid, type Executor } from '../../src/platform/db/index.ts';
import type { World } from '../../src/platform/world.ts';
import type { DomainRow } from '../../src/mail/domains/index.ts';
import {
  bodyRow,
  emailRowsByIds,
  insertAttempts,
  insertEmails,
  recordEmailEvents,
  buildSearchText,
  type AttemptRow,
  type EmailEvent,
  type NewEmailRows,
  type TriedRecipient,
} from '../../src/mail/emails/index.ts';
import { suppress } from '../../src/mail/suppressions/index.ts';
import { countUsage } from '../../src/tenancy/usage/index.ts';
import { createDice, createSeededIds, PEOPLE, pickMailing, DOMAIN, type Dice, type Mailing } from './people.ts';
import type { Ctx } from '../../src/tenancy/access/index.ts';
import {
  insertRecipients,
  type NewRecipientRow,
  beginBroadcast,
  claimDueBroadcasts,
  createBroadcast,
  finishBroadcast,
  listBroadcasts,
  saveProgress,
  type BroadcastRow,
} from '../../src/features/campaigns/index.ts';
import { membersPage, listSegments } from '../../src/features/audience/index.ts';

/** An event of an email, so many milliseconds after it was accepted. */
type Moment = { after: number } & (
  | { happens: EventDraft }
  /** A try to deliver. */
  | { tried: TriedRecipient; attempt: number }
);

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const DAY = 24 * 60 * MINUTE;

const ENDINGS = [
  ['delivered', 40],
  ['opened', 34],
  ['clicked', 13],
  ['bounced', 4],
  ['full', 1.5],
  ['complained', 0.7],
  ['late', 3],
  ['failed', 0.8],
  ['suppressed', 2],
  ['canceled', 1],
] as const;

const AGENTS = ['Mozilla/5.0 (Macintosh)', 'Mozilla/5.0 (Windows NT 10.0)', 'Mozilla/5.0 (iPhone)'];

/** Returns the events of one email in the order in which they happen. */
function buildStory(dice: Dice, email: string, at: number): Moment[] {
  const ending = pickEnding(dice);
  const to = [email];
  const happen = (after: number, happens: EventDraft): Moment => ({ after, happens });
  const queued = happen(0, { type: 'email.queued' });
  if (ending === 'canceled') {
    return [happen(0, { type: 'email.scheduled' }), happen(20 * MINUTE, { type: 'email.canceled' })];
  }
  if (ending === 'suppressed') return [queued, happen(SECOND, { type: 'email.suppressed', data: suppressed(to) })];
  const sent = happen(SECOND, { type: 'email.sent' });
  if (ending === 'failed') {
    return [
      queued,
      sent,
      buildTry(email, { outcome: 'ambiguous', reason: null, reply: null }, 2 * SECOND),
      happen(120 * MINUTE, { type: 'email.failed', data: { to, failed: { reason: 'ambiguous_submission' } } }),
    ];
  }
  if (ending === 'bounced' || ending === 'full') {
    const isFull = ending === 'full';
    const reply = isFull ? '552 5.2.2 The mailbox is full' : '550 5.1.1 No such user here';
    const bounce = isFull
      ? { type: 'Transient' as const, subType: 'MailboxFull', message: 'The mailbox is full.', diagnosticCode: [reply] }
      : { type: 'Permanent' as const, subType: 'NoEmail', message: 'No such mailbox.', diagnosticCode: [reply] };
    const bounced = buildTry(email, { outcome: 'bounced', reason: null, reply }, 2 * SECOND);
    return [queued, sent, bounced, happen(3 * SECOND, { type: 'email.bounced', data: { to, bounce } })];
  }
  const late = ending === 'late' ? delayed(email, at) : [];
  const deliveredAt = ending === 'late' ? 31 * MINUTE : 3 * SECOND;
  const ok = { outcome: 'delivered' as const, reason: null, reply: '250 2.0.0 Queued' };
  const begun = [queued, sent, ...late, buildTry(email, ok, deliveredAt, late.length === 0 ? 1 : 2)];
  const delivered = [...begun, happen(deliveredAt + 1, { type: 'email.delivered', data: { to } })];
  if (ending === 'complained') return [...delivered, happen(90 * MINUTE, { type: 'email.complained', data: { to } })];
  if (ending !== 'opened' && ending !== 'clicked') return delivered;
  return [...delivered, ...engagement(dice, at, ending === 'clicked')];
}

function pickEnding(dice: Dice): (typeof ENDINGS)[number][0] {
  let left = dice.roll() * ENDINGS.reduce((sum, [, weight]) => sum + weight, 0);
  for (const [ending, weight] of ENDINGS) if ((left -= weight) < 0) return ending;
  return 'delivered';
}

const buildTry = (email: string, ended: Omit<TriedRecipient, 'email'>, after: number, attempt = 1): Moment => ({
  after,
  attempt,
  tried: { email, ...ended },
});

const suppressed = (to: string[]) => ({
  to,
  suppressed: {
    reason: 'previous_bounce' as const,
    type: 'Suppressed' as const,
    message: 'An earlier message to this address bounced.',
    diagnosticCode: ['550 5.1.1 No such user here'],
  },
});

function delayed(email: string, at: number): Moment[] {
  const reply = '451 4.7.1 Try again later';
  const delay = {
    type: 'TransientCommunicationFailure',
    expirationTime: new Date(at + 48 * 60 * MINUTE).toISOString(),
    delayedRecipients: [{ emailAddress: email, diagnosticCode: reply }],
  };
  return [
    buildTry(email, { outcome: 'deferred', reason: null, reply }, 2 * SECOND),
    { after: 3 * SECOND, happens: { type: 'email.delivery_delayed', data: { to: [email], delay } } },
  ];
}

function engagement(dice: Dice, at: number, isClicked: boolean): Moment[] {
  const openedAfter = Math.floor((2 + dice.roll() * 240) * MINUTE);
  const reader = (after: number) => ({
    ipAddress: `192.0.2.${1 + Math.floor(dice.roll() * 250)}`,
    userAgent: dice.pick(AGENTS),
    timestamp: new Date(at + after).toISOString(),
  });
  const opened: Moment = {
    after: openedAfter,
    happens: { type: 'email.opened', data: { open: reader(openedAfter) } },
  };
  if (!isClicked) return [opened];
  const after = openedAfter + MINUTE;
  const click = { ...reader(after), link: 'https://shop.example.com/orders' };
  return [opened, { after, happens: { type: 'email.clicked', data: { click } } }];
}

const EMAILS_A_DAY = 110;

interface Written {
  email: NewEmailRows;
  address: string;
  moments: Moment[];
}

/** A clock that is set by hand, and ids of the time it shows. */
interface Then {
  store: World;
  set: (at: number) => void;
}

function thenIn(world: World, dice: Dice, begin: number): Then {
  let at = begin;
  const store: World = { ...world, clock: { ...world.clock, now: () => at } };
  store.ids = createSeededIds(dice, () => at);
  return { store, set: (now) => void (at = now) };
}

/**
 * Writes the mail of one day up to `now`, in one transaction; returns how many emails it wrote. A day that was written
 * before, known by any of its emails, stays as it is.
 */
export async function seedDay(world: World, domain: DomainRow, dayStart: number, now: number): Promise<number> {
  const dice = createDice(`${domain.id} ${dayStart}`);
  const { store, set } = thenIn(world, dice, dayStart);
  const isWeekend = [0, 6].includes(new Date(dayStart).getUTCDay());
  const count = Math.round(EMAILS_A_DAY * (isWeekend ? 0.4 : 0.8 + dice.roll() * 0.4));
  const written: Written[] = [];
  for (let i = 0; i < count; i++) {
    // Most is sent by day.
    const at = dayStart + Math.floor((0.3 + (0.55 * (i + dice.roll())) / count) * DAY);
    set(at);
    const { email: address } = dice.pick(PEOPLE);
    const row = buildEmail(store, domain, address, pickMailing(dice));
    const moments = buildStory(dice, address, at).filter((moment) => at + moment.after <= now);
    // An email without an end would have to be queued and sent.
    if (moments.some(hasEnded)) written.push({ email: row, address, moments });
  }
  const ids = written.map(({ email }) => email.email.id);
  if (ids.length === 0 || (await emailRowsByIds(world.db, ids)).length > 0) return 0;
  await world.db.tx(async (tx) => {
    await writeStories(tx, { store, set }, domain, written);
    const usage = { teamId: domain.team_id, kind: 'transactional' as const, at: dayStart, count: written.length };
    await countUsage(tx, usage);
  });
  return written.length;
}

/** Writes emails and their events, with the states, counts and reports that follow from them. */
async function writeStories(
  tx: Executor,
  { store, set }: Then,
  domain: DomainRow,
  written: readonly Written[],
): Promise<void> {
  for (const { email, moments } of written) {
    email.email.last_event = foldLastEvent(
      moments.flatMap((moment) => ('happens' in moment ? moment.happens.type : [])),
    );
  }
  await insertEmails(
    tx,
    written.map(({ email }) => email),
  );
  const happened = written
    .flatMap((one) => one.moments.map((moment) => ({ ...one, moment, at: one.email.email.created_at + moment.after })))
    .sort((a, b) => a.at - b.at);
  const events: EmailEvent[] = [];
  const attempts: AttemptRow[] = [];
  for (const { email, address, moment, at } of happened) {
    set(at);
    const { id } = email.email;
    if ('tried' in moment) attempts.push(buildAttempt(store, id, moment));
    else {
      events.push({ id: store.ids.uuid(), at, email: email.email, isFirst: true, ...moment.happens } as EmailEvent);
      const origin = findOrigin(moment.happens);
      if (origin) await suppress(store, tx, domain.team_id, [{ email: address, origin, sourceId: id }]);
    }
  }
  await recordEmailEvents(tx, store.ids, events);
  await insertAttempts(tx, attempts);
}

const ENDS: readonly string[] = ['delivered', 'bounced', 'failed', 'suppressed', 'canceled'].map(
  (end) => `email.${end}`,
);

const hasEnded = (moment: Moment): boolean => 'happens' in moment && ENDS.includes(moment.happens.type);

function findOrigin(happening: NewEvent | { type: string; data?: unknown }): 'bounce' | 'complaint' | undefined {
  if (happening.type === 'email.complained') return 'complaint';
  const { bounce } = (happening.data ?? {}) as { bounce?: { type: string } };
  return happening.type === 'email.bounced' && bounce?.type === 'Permanent' ? 'bounce' : undefined;
}

function buildEmail(
  store: World,
  domain: DomainRow,
  address: string,
  { subject, text, from, kind }: Mailing,
  broadcastId: string | null = null,
): NewEmailRows {
  const id = store.ids.uuid();
  const [, sender = from] = /<(.+)>/.exec(from) ?? [];
  const [senderDomain, addressDomain] = [sender, address].map((whole) => whole.slice(whole.lastIndexOf('@') + 1));
  const mailboxes = [
    { name: 'Shop', address: sender, domain: senderDomain ?? '' },
    { name: '', address, domain: addressDomain ?? '' },
  ];
  return {
    email: {
      id,
      team_id: domain.team_id,
      is_marketing: 0,
      is_bulk: 0,
      api_key_id: null,
      domain_id: domain.id,
      sender: from,
      to_list: JSON.stringify([address]),
      cc_list: null,
      bcc_list: null,
      reply_to_list: null,
      headers: null,
      topic_id: null,
      template_id: null,
      subject,
      message_id: `<${id}@${domain.name}>`,
      tags: JSON.stringify([{ name: 'kind', value: kind }]),
      attachment_count: 0,
      has_message: 0,
      last_event: 'queued',
      scheduled_at: null,
      mail_from: null,
      broadcast_id: broadcastId,
      automation_id: null,
      run_depth: null,
      contact_id: null,
      is_account_mail: 0,
      request_id: null,
      asked: null,
      first_attempt_at: null,
      created_at: store.clock.now(),
      search_text: buildSearchText(subject, mailboxes),
    },
    body: bodyRow(store, id, { html: `<p>${text}</p>`, text }),
    attachments: [],
    contents: [],
  };
}

function buildAttempt(
  store: World,
  emailId: string,
  { tried, attempt }: Extract<Moment, { tried: object }>,
): AttemptRow {
  const destination = tried.email.slice(tried.email.lastIndexOf('@') + 1);
  const mx = `mx1.${destination}`;
  return {
    email_id: emailId,
    id: store.ids.uuid(),
    created_at: store.clock.now(),
    attempt,
    destination,
    mx,
    relay: null,
    source: null,
    provider: null,
    address: '192.0.2.25',
    tls_version: 'TLSv1.3',
    tls_cipher: 'TLS_AES_256_GCM_SHA384',
    duration_ms: 180 + (emailId.charCodeAt(35) % 7) * 40,
    recipients: JSON.stringify([tried]),
    transcript: `< 220 ${mx} ESMTP\n> RCPT TO:<${tried.email}>\n< ${tried.reply ?? '(the connection broke)'}`,
  };
}

const DAYS_AGO = 9;
const HTML = `<p>Hello {{{FIRST_NAME|friend}}}, <a href="https://${DOMAIN}/orders">here</a> is what is new.</p>`;
const SUBSCRIBED = { kind: 'boolean', place: { of: 'unsubscribed' }, op: 'eq', value: false } as const;
const ALL = 500;
const PAGE = { limit: 100 };
const SUBJECT = 'Our autumn colors';

/**
 * Adds a broadcast that was sent nine days ago, with its results; returns its number of emails. A running server sees
 * it once it is complete.
 */
export async function addSentBroadcast(world: World, ctx: Ctx, domain: DomainRow): Promise<number> {
  if ((await listBroadcasts(ctx, {}, PAGE)).data.some(({ name }) => name === SUBJECT)) return 0;
  const segment = (await listSegments(ctx, {}, PAGE)).data.find(({ name }) => name === 'Reachable');
  const now = world.clock.now();
  const at = now - (now % DAY) - DAYS_AGO * DAY + 10 * 60 * MINUTE;
  const dice = createDice(`${domain.id} sent broadcast`);
  const then = thenIn(world, dice, at);
  let mailed = 0;
  const db = overlaid(world.db, {
    tx: (work) =>
      world.db.tx(async (tx) => {
        const done = await work(tx);
        mailed = await sendAll(tx, then, domain, { at, now });
        return done;
      }),
  });
  await createBroadcast(
    { ...ctx, store: { ...then.store, db } },
    { from: `Shop <news@${DOMAIN}>`, subject: SUBJECT, html: HTML, segment_id: segment?.id ?? null, send: true },
  );
  return mailed;
}

async function sendAll(
  tx: Executor,
  then: Then,
  domain: DomainRow,
  { at, now }: { at: number; now: number },
): Promise<number> {
  const { store } = then;
  const owner = store.ids.uuid();
  // A lease that expired long ago does not keep other broadcasts from the server.
  const due = await claimDueBroadcasts(tx, { owner, now: at, until: at + 1, limit: 100 });
  const broadcast = due.find(
    ({ created_at: createdAt, team_id: team }) => team === domain.team_id && Number(createdAt) === at,
  );
  if (!broadcast) throw new Error('sample broadcast missing among those that are due');
  const { id } = broadcast;
  const made = new Set(PEOPLE.map(({ email }) => email));
  const all = await membersPage(tx, domain.team_id, SUBSCRIBED, { limit: ALL, after: undefined });
  const members = all.filter(({ email }) => made.has(email));
  const { written, recipients } = buildStories(then, domain, broadcast, { members, at, now });
  await beginBroadcast(tx, { id, owner, at, total: members.length });
  const cursorId = members.at(-1)?.id ?? '';
  const tracked = { opens: true, clicks: true };
  await saveProgress(tx, { id, owner, cursorId, recipients: recipients.length, excluded: 0, tracked });
  await insertRecipients(tx, recipients);
  await writeStories(tx, then, domain, written);
  await countUsage(tx, { teamId: domain.team_id, kind: 'marketing', at, count: written.length });
  await finishBroadcast(tx, { id, owner, at: at + 2 * MINUTE });
  return written.length;
}

interface Sent {
  members: readonly { id: string; email: string; email_key: string }[];
  at: number;
  now: number;
}

function buildStories(then: Then, domain: DomainRow, broadcast: BroadcastRow, { members, at, now }: Sent) {
  const { store, set } = then;
  const dice = createDice(`${domain.id} sent broadcast, its stories`);
  const written: Written[] = [];
  const recipients: NewRecipientRow[] = [];
  for (const [place, { id, email, email_key }] of members.entries()) {
    const mailedAt = at + place * 200;
    set(mailedAt);
    const mailing = { subject: broadcast.subject, text: 'Here is what is new.', from: broadcast.sender, kind: 'news' };
    const row = buildEmail(store, domain, email, mailing, broadcast.id);
    const moments = buildStory(dice, email, mailedAt).filter(({ after }) => mailedAt + after <= now);
    if (!moments.some(hasEnded)) continue;
    written.push({ email: row, address: email, moments });
    recipients.push({
      broadcast_id: broadcast.id,
      email_key,
      id: store.ids.uuid(),
      contact_id: id,
      email,
      email_id: row.email.id,
      excluded: null,
    });
  }
  return { written, recipients };
}
