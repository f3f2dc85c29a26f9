import type { Executor } from '../../platform/db/index.ts';
import type { Place } from '../../platform/fair-share/index.ts';
import type { World } from '../../platform/world/index.ts';
import { bytesWorth, rowsWorth } from '../contents/index.ts';
import { insertEmails, recordEmailEvents } from '../emails/index.ts';
import { insertSharedBodies, type SharedBodyRow } from '../shared-bodies/index.ts';
import { insertDeliveries } from '../queue/index.ts';
import { giveBack, refuseBeyondGrants, type CountedGrant } from './grant-limits.ts';
import { keepAnswers, type Idempotency } from './idempotency.ts';
import { refuseOverQuota, type Counted } from './quota.ts';
import type { AcceptedRows } from './rows.ts';

/** What one request asks to be accepted: all of it or nothing. */
export interface Acceptance extends Counted {
  emails: AcceptedRows[];
  /** Bodies that some of its emails share. */
  bodies: readonly SharedBodyRow[];
  idempotency: Idempotency | undefined;
  answer: unknown;
  /** The app that asks for it, where what it may send is counted. */
  grant?: CountedGrant | undefined;
}

/** About how many rows it writes: one email may go to fifty destinations. */
const rowsIn = ({ emails, bodies }: Acceptance): number =>
  emails.reduce(
    (sum, { deliveries, attachments, contents }) => sum + deliveries.length + attachments.length + rowsWorth(contents),
    bodies.reduce((sum, { html, text }) => sum + bytesWorth((html?.length ?? 0) + (text?.length ?? 0)), 0),
  );

/** Teams take turns, and a team's marketing mail comes after its other mail. */
export const placeOf = (item: Acceptance): Place => ({
  party: item.teamId,
  weight: rowsIn(item),
  isLater: item.kind === 'marketing',
});

/** Writes everything in the caller's transaction; returns a refusal for each request beyond its team's quota, or what its app may send a day. */
export async function writeAccepted(world: World, tx: Executor, items: Acceptance[]): Promise<(undefined | Error)[]> {
  const now = world.clock.now();
  const refusals: Map<Acceptance, Error> = await refuseBeyondGrants(tx, items, now);
  const within = refusals.size === 0 ? items : items.filter((item) => !refusals.has(item));
  const overQuota = await refuseOverQuota(world, tx, within, now);
  if (overQuota.size > 0) await giveBack(tx, [...overQuota.keys()], now);
  for (const [item, refusal] of overQuota) refusals.set(item, refusal);
  const accepted = refusals.size === 0 ? items : items.filter((item) => !refusals.has(item));
  const answers = accepted.flatMap(({ teamId, idempotency, answer }) =>
    idempotency ? [{ teamId, idempotency, response: answer }] : [],
  );
  if (answers.length > 0) await keepAnswers(tx, answers, now);
  const emails = accepted.flatMap((item) => item.emails);
  const bodies = accepted.flatMap((item) => item.bodies);
  if (bodies.length > 0) await insertSharedBodies(tx, bodies);
  if (emails.length > 0) await writeEmails(world, tx, emails);
  return items.map((item) => refusals.get(item));
}

async function writeEmails(world: World, tx: Executor, emails: AcceptedRows[]): Promise<void> {
  await insertEmails(tx, emails);
  await insertDeliveries(
    tx,
    emails.flatMap((rows) => rows.deliveries),
  );
  await recordEmailEvents(
    tx,
    world.ids,
    emails.map(({ email }) => ({
      email,
      type: email.scheduled_at === null ? ('email.queued' as const) : ('email.scheduled' as const),
      at: email.created_at,
      isFirst: true,
    })),
  );
}
