import { foldLastEvent, type NewEvent } from '../../src/mail/events/index.ts';
import type { Executor } from '../../src/platform/db/index.ts';
import type { World } from '../../src/platform/world/index.ts';
import type { DomainRow } from '../../src/mail/domains/index.ts';
import {
  bodyRow,
  emailRowsByIds,
  insertAttempts,
  insertEmails,
  recordEmailEvents,
  searchTextOf,
  type AttemptRow,
  type EmailEvent,
  type NewEmailRows,
} from '../../src/mail/emails/index.ts';
import { suppress } from '../../src/mail/suppressions/index.ts';
import { countUsage } from '../../src/tenancy/usage/index.ts';
import { createDice, createSeededIds, type Dice } from './dice.ts';
import { tellStory, type Moment } from './email-story.ts';
import { PEOPLE, pickMailing, type Mailing } from './people.ts';

const DAY = 24 * 60 * 60 * 1000;
const EMAILS_A_DAY = 110;

export interface Written {
  email: NewEmailRows;
  address: string;
  moments: Moment[];
}

/** A clock that is set by hand, and ids of the time it shows. */
export interface Then {
  store: World;
  set: (at: number) => void;
}

export function thenIn(world: World, dice: Dice, begin: number): Then {
  let at = begin;
  const store: World = { ...world, clock: { ...world.clock, now: () => at } };
  store.ids = createSeededIds(dice, () => at);
  return { store, set: (now) => void (at = now) };
}

/**
 * The mail of one day up to `now`, in one transaction; answers how many emails it wrote. A day that was written before,
 * known by any of its emails, stays as it is.
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
    const row = emailOf(store, domain, address, pickMailing(dice));
    const moments = tellStory(dice, address, at).filter((moment) => at + moment.after <= now);
    // What has not ended would have to be in the queue, and be sent.
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

/** Emails and what became of them, with the states, counts and reports that follow from that. */
export async function writeStories(
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
    if ('tried' in moment) attempts.push(attemptOf(store, id, moment));
    else {
      events.push({ id: store.ids.uuid(), at, email: email.email, isFirst: true, ...moment.happens } as EmailEvent);
      const origin = originOf(moment.happens);
      if (origin) await suppress(store, tx, domain.team_id, [{ email: address, origin, sourceId: id }]);
    }
  }
  await recordEmailEvents(tx, store.ids, events);
  await insertAttempts(tx, attempts);
}

const ENDS: readonly string[] = ['delivered', 'bounced', 'failed', 'suppressed', 'canceled'].map(
  (end) => `email.${end}`,
);

export const hasEnded = (moment: Moment): boolean => 'happens' in moment && ENDS.includes(moment.happens.type);

function originOf(happening: NewEvent | { type: string; data?: unknown }): 'bounce' | 'complaint' | undefined {
  if (happening.type === 'email.complained') return 'complaint';
  const { bounce } = (happening.data ?? {}) as { bounce?: { type: string } };
  return happening.type === 'email.bounced' && bounce?.type === 'Permanent' ? 'bounce' : undefined;
}

export function emailOf(
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
      api_key_id: null,
      domain_id: domain.id,
      sender: from,
      to_list: JSON.stringify([address]),
      ...{ cc_list: null, bcc_list: null, reply_to_list: null, headers: null, topic_id: null, template_id: null },
      subject,
      message_id: `<${id}@${domain.name}>`,
      tags: JSON.stringify([{ name: 'kind', value: kind }]),
      ...{
        attachment_count: 0,
        has_message: 0,
        last_event: 'queued',
        scheduled_at: null,
        mail_from: null,
        broadcast_id: broadcastId,
        automation_id: null,
        run_depth: null,
        is_account_mail: 0,
        request_id: null,
        asked: null,
        first_attempt_at: null,
      },
      created_at: store.clock.now(),
      search_text: searchTextOf(subject, mailboxes),
    },
    body: bodyRow(store, id, { html: `<p>${text}</p>`, text }),
    attachments: [],
    contents: [],
  };
}

function attemptOf(store: World, emailId: string, { tried, attempt }: Extract<Moment, { tried: object }>): AttemptRow {
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
    address: '192.0.2.25',
    tls_version: 'TLSv1.3',
    tls_cipher: 'TLS_AES_256_GCM_SHA384',
    duration_ms: 180 + (emailId.charCodeAt(35) % 7) * 40,
    recipients: JSON.stringify([tried]),
    transcript: `< 220 ${mx} ESMTP\n> RCPT TO:<${tried.email}>\n< ${tried.reply ?? '(the connection broke)'}`,
  };
}
