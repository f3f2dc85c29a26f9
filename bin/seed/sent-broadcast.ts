import { overlaid, type Executor } from '../../src/platform/db/index.ts';
import type { World } from '../../src/platform/world/index.ts';
import type { Ctx } from '../../src/tenancy/access/index.ts';
import { insertRecipients, type NewRecipientRow } from '../../src/features/campaigns/broadcast-recipients/index.ts';
import {
  beginBroadcast,
  claimDueBroadcasts,
  createBroadcast,
  finishBroadcast,
  listBroadcasts,
  saveProgress,
  type BroadcastRow,
} from '../../src/features/campaigns/broadcasts/index.ts';
import { membersPage } from '../../src/features/audience/contacts/index.ts';
import type { DomainRow } from '../../src/mail/domains/index.ts';
import { listSegments } from '../../src/features/audience/segments/index.ts';
import { countUsage } from '../../src/tenancy/usage/index.ts';
import { createDice } from './dice.ts';
import { tellStory } from './email-story.ts';
import { emailOf, hasEnded, thenIn, writeStories, type Then, type Written } from './mail.ts';
import { DOMAIN, PEOPLE } from './people.ts';

const MINUTE = 60_000;
const DAYS_AGO = 9;
const DAY = 24 * 60 * MINUTE;
const HTML = `<p>Hello {{{FIRST_NAME|friend}}}, <a href="https://${DOMAIN}/orders">here</a> is what is new.</p>`;
const SUBSCRIBED = { kind: 'boolean', place: { of: 'unsubscribed' }, op: 'eq', value: false } as const;
const ALL = 500;
const PAGE = { limit: 100 };
const SUBJECT = 'Our autumn colours';

/** One that went out nine days ago, with what became of it; answers how many emails it was. A server that runs sees it when all of it is there. */
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
  // A lease that has run out long ago keeps no other broadcast from its server.
  const due = await claimDueBroadcasts(tx, { owner, now: at, until: at + 1, limit: 100 });
  const broadcast = due.find(
    ({ created_at: createdAt, team_id: team }) => team === domain.team_id && Number(createdAt) === at,
  );
  if (!broadcast) throw new Error('the broadcast of the sample data is not due');
  const { id } = broadcast;
  const made = new Set(PEOPLE.map(({ email }) => email));
  const all = await membersPage(tx, domain.team_id, SUBSCRIBED, { limit: ALL, after: undefined });
  const members = all.filter(({ email }) => made.has(email));
  const { written, recipients } = storiesOf(then, domain, broadcast, { members, at, now });
  await beginBroadcast(tx, { id, owner, at, total: members.length });
  const cursorId = members.at(-1)?.id ?? '';
  await saveProgress(tx, { id, owner, cursorId, recipients: recipients.length, excluded: 0 });
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

function storiesOf(then: Then, domain: DomainRow, broadcast: BroadcastRow, { members, at, now }: Sent) {
  const { store, set } = then;
  const dice = createDice(`${domain.id} sent broadcast, its stories`);
  const written: Written[] = [];
  const recipients: NewRecipientRow[] = [];
  for (const [place, { id, email, email_key }] of members.entries()) {
    const mailedAt = at + place * 200;
    set(mailedAt);
    const mailing = { subject: broadcast.subject, text: 'Here is what is new.', from: broadcast.sender, kind: 'news' };
    const row = emailOf(store, domain, email, mailing, broadcast.id);
    const moments = tellStory(dice, email, mailedAt).filter(({ after }) => mailedAt + after <= now);
    if (!moments.some(hasEnded)) continue;
    written.push({ email: row, address: email, moments });
    recipients.push({
      ...{ broadcast_id: broadcast.id, email_key, id: store.ids.uuid(), contact_id: id, email },
      ...{ email_id: row.email.id, excluded: null },
    });
  }
  return { written, recipients };
}
