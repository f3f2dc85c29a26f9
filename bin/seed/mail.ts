import { foldLastEvent, recordEvents, type NewEvent } from '../../src/events/index.ts';
import type { World } from '../../src/platform/world/index.ts';
import type { DomainRow } from '../../src/resources/domains/index.ts';
import {
  bodyRow,
  emailRowsByIds,
  insertAttempts,
  insertEmails,
  searchTextOf,
  type AttemptRow,
  type NewEmailRows,
} from '../../src/resources/emails/index.ts';
import { suppress } from '../../src/resources/suppressions/index.ts';
import { countUsage } from '../../src/resources/usage/index.ts';
import { createDice, createSeededIds } from './dice.ts';
import { tellStory, type Moment } from './email-story.ts';
import { PEOPLE, pickMailing } from './people.ts';

const DAY = 24 * 60 * 60 * 1000;
const EMAILS_A_DAY = 110;

interface Written {
  email: NewEmailRows;
  address: string;
  moments: Moment[];
}

/**
 * The mail of one day up to `now`, in one transaction; answers how many emails it wrote. A day that was written before,
 * known by any of its emails, stays as it is.
 */
export async function seedDay(world: World, domain: DomainRow, dayStart: number, now: number): Promise<number> {
  const dice = createDice(`${domain.id} ${dayStart}`);
  let at = dayStart;
  const store: World = { ...world, clock: { ...world.clock, now: () => at } };
  store.ids = createSeededIds(dice, () => at);
  const isWeekend = [0, 6].includes(new Date(dayStart).getUTCDay());
  const count = Math.round(EMAILS_A_DAY * (isWeekend ? 0.4 : 0.8 + dice.roll() * 0.4));
  const written: Written[] = [];
  for (let i = 0; i < count; i++) {
    // Most is sent by day.
    at = dayStart + Math.floor((0.3 + (0.55 * (i + dice.roll())) / count) * DAY);
    const { email: address } = dice.pick(PEOPLE);
    const row = emailOf(store, domain, address, dice);
    const moments = tellStory(dice, address, at).filter((moment) => at + moment.after <= now);
    // What has not ended would have to be in the queue, and be sent.
    if (moments.some(hasEnded)) written.push({ email: row, address, moments });
  }
  const ids = written.map(({ email }) => email.email.id);
  if (ids.length === 0 || (await emailRowsByIds(world.db, ids)).length > 0) return 0;
  for (const { email, moments } of written) {
    email.email.last_event = foldLastEvent(
      moments.flatMap((moment) => ('happens' in moment ? moment.happens.type : [])),
    );
  }
  await world.db.tx(async (tx) => {
    await insertEmails(
      tx,
      written.map(({ email }) => email),
    );
    const usage = { teamId: domain.team_id, kind: 'transactional' as const, at: dayStart, count: written.length };
    await countUsage(tx, usage);
    const happened = written
      .flatMap((one) =>
        one.moments.map((moment) => ({ ...one, moment, at: one.email.email.created_at + moment.after })),
      )
      .sort((a, b) => a.at - b.at);
    const events: NewEvent[] = [];
    const attempts: AttemptRow[] = [];
    for (const { email, address, moment, at: happenedAt } of happened) {
      at = happenedAt;
      const { id } = email.email;
      if ('tried' in moment) attempts.push(attemptOf(store, id, moment));
      else {
        const known = { teamId: domain.team_id, subjectId: id, domainId: domain.id, isFirst: true };
        events.push({ id: store.ids.uuid(), at, ...known, ...moment.happens });
        const origin = originOf(moment.happens);
        if (origin) await suppress(store, tx, domain.team_id, [{ email: address, origin, sourceId: id }]);
      }
    }
    await recordEvents(tx, store.ids, events);
    await insertAttempts(tx, attempts);
  });
  return written.length;
}

const ENDS: readonly string[] = ['delivered', 'bounced', 'failed', 'suppressed', 'canceled'].map(
  (end) => `email.${end}`,
);

const hasEnded = (moment: Moment): boolean => 'happens' in moment && ENDS.includes(moment.happens.type);

function originOf(happening: NewEvent | { type: string; data?: unknown }): 'bounce' | 'complaint' | undefined {
  if (happening.type === 'email.complained') return 'complaint';
  const { bounce } = (happening.data ?? {}) as { bounce?: { type: string } };
  return happening.type === 'email.bounced' && bounce?.type === 'Permanent' ? 'bounce' : undefined;
}

function emailOf(store: World, domain: DomainRow, address: string, dice: ReturnType<typeof createDice>): NewEmailRows {
  const { subject, text, from, kind } = pickMailing(dice);
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
        broadcast_id: null,
        run_depth: null,
        is_account_mail: 0,
        asked: null,
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
    address: '192.0.2.25',
    tls_version: 'TLSv1.3',
    tls_cipher: 'TLS_AES_256_GCM_SHA384',
    duration_ms: 180 + (emailId.charCodeAt(35) % 7) * 40,
    recipients: JSON.stringify([tried]),
    transcript: `< 220 ${mx} ESMTP\n> RCPT TO:<${tried.email}>\n< ${tried.reply ?? '(the connection broke)'}`,
  };
}
