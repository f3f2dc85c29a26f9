import { countedAs, countersOf, noCounts, type Counter, type Counts } from '../../mail/events/index.ts';
import { nextTurn } from '../../platform/clock/index.ts';
import { refuse, type Refusal } from '../../platform/refusal/index.ts';
import type { Ctx } from '../../tenancy/access/index.ts';
import {
  countAcceptedIn,
  emailsAcceptedIn,
  emailsOfTeam,
  eventCountsOf,
  taggedAcceptedIn,
  taggedAmong,
  type EmailOfDomain,
  type EventCount,
} from './metrics.store.ts';
import type { Period } from './periods.ts';
import type { Asked } from './read-query.ts';
import { QUARTER_MS } from './slots.ts';
import { createTally, type Subject, type Tally } from './tally.ts';

/** No index knows the domain of an email: those of a domain are picked out of all that were accepted. */
const LOOKED_AT_MAX = 20_000;

/** How many emails one statement reads, so that it holds the event loop for few milliseconds. */
const EMAILS_AT_ONCE = 500;

/**
 * The team's emails that were named, or else those that were accepted in the range; of the domains, and with the tag, if any
 * are named.
 */
export async function emailsFor(
  ctx: Ctx,
  { emailIds, domainIds, tag, range, dimensions }: Asked,
  most: number,
): Promise<EmailOfDomain[]> {
  const { store, teamId } = ctx;
  const isOfDomains = (email: EmailOfDomain): boolean => domainIds?.includes(email.domain_id) ?? true;
  if (emailIds) {
    const emails = (await emailsOfTeam(store.db, teamId, emailIds)).filter(isOfDomains);
    if (tag === undefined) return emails;
    const tagged = await taggedAmong(store.db, teamId, tag, emailIds);
    return emails.filter(({ id }) => tagged.has(id));
  }
  if (tag !== undefined) {
    const emails = (await readTagged(ctx, tag, range)).filter(isOfDomains);
    if (dimensions.includes('email') && emails.length > most) throw tooManyEmails(most, 'with the tag');
    return emails;
  }
  if (domainIds && (await countAcceptedIn(store.db, teamId, range, LOOKED_AT_MAX + 1)) > LOOKED_AT_MAX) {
    throw tooManyEmails(LOOKED_AT_MAX, 'of any domain');
  }
  const emails = await emailsAcceptedIn(store.db, teamId, { range, domainIds, limit: most + 1 });
  if (emails.length > most) throw tooManyEmails(most, domainIds && 'of the domains');
  return emails;
}

async function readTagged({ store, teamId }: Ctx, tag: string, range: Asked['range']): Promise<EmailOfDomain[]> {
  const emails: EmailOfDomain[] = [];
  for (;;) {
    const page = { tag, range, after: emails.at(-1)?.id, limit: EMAILS_AT_ONCE };
    const read = await taggedAcceptedIn(store.db, teamId, page);
    emails.push(...read);
    if (emails.length > LOOKED_AT_MAX) {
      throw refuse('invalid_parameter', {
        say: `With tag, at most ${LOOKED_AT_MAX} emails that have it may have been accepted in the range; give a shorter range.`,
      });
    }
    if (read.length < EMAILS_AT_ONCE) return emails;
    await nextTurn();
  }
}

/** Reads what happened to each of the emails, by their ids. */
export async function readEventCounts(ctx: Ctx, emails: readonly EmailOfDomain[]): Promise<Map<string, EventCount[]>> {
  const counts: EventCount[] = [];
  for (let at = 0; at < emails.length; at += EMAILS_AT_ONCE) {
    if (at > 0) await nextTurn();
    const ids = emails.slice(at, at + EMAILS_AT_ONCE).map(({ id }) => id);
    counts.push(...(await eventCountsOf(ctx.store.db, ids)));
  }
  return Map.groupBy(counts, (row) => row.subject_id);
}

function tooManyEmails(most: number, which: string | undefined): Refusal {
  const emails = which ? `emails ${which}` : 'emails';
  return refuse('invalid_parameter', {
    say: `With the dimension email and without email_id, at most ${most} ${emails} may have been accepted in the range; give email_id, or a shorter range.`,
  });
}

/** Counts single emails from their own events (`readEventCounts`), by the same rule as the sums of all. */
export function countEmails(
  emails: readonly EmailOfDomain[],
  ofEmail: ReadonlyMap<string, EventCount[]>,
  dimensions: Asked['dimensions'],
  periods: readonly Pick<Period, 'from' | 'until'>[],
): Tally {
  const tally = createTally();
  for (const email of emails) {
    const subject: Subject = {
      emailId: dimensions.includes('email') ? email.id : undefined,
      domainId: dimensions.includes('domain') ? email.domain_id : undefined,
    };
    for (const [slot, counts] of countsBySlot(ofEmail.get(email.id) ?? [])) {
      const at = slot * QUARTER_MS;
      // Slots are whole and periods begin and end with them.
      const period = periods.findIndex(({ from, until }) => from <= at && at < until);
      if (period >= 0) tally.add(subject, period, counts);
    }
  }
  return tally;
}

function countsBySlot(rows: readonly EventCount[]): Map<number, Counts> {
  const bySlot = new Map<number, Counts>();
  const firstSlots = new Map<Counter, number>();
  const add = (slot: number, counter: Counter, n: number): void => {
    let counts = bySlot.get(slot);
    if (!counts) bySlot.set(slot, (counts = noCounts()));
    counts[counter] += n;
  };
  for (const { type, bounce, machine, slot, n } of rows) {
    for (const counter of countersOf({ type, bounce: bounce ?? undefined, isMachine: machine !== null })) {
      if (countedAs(counter).isEvery) add(slot, counter, n);
      else firstSlots.set(counter, Math.min(slot, firstSlots.get(counter) ?? slot));
    }
  }
  for (const [counter, slot] of firstSlots) add(slot, counter, 1);
  return bySlot;
}
