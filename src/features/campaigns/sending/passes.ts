import { countRecipients, hasGrown, sampleAudience, type Audience } from '../broadcasts/audience.ts';
import type { World } from '../../../platform/world.ts';
import type { Filter } from '../../../protocol/contact-filter/index.ts';
import {
  beginBroadcast,
  beginPass,
  finishBroadcast,
  waitForPass,
  waitForQuietEnd,
  waitForStart,
} from '../broadcasts/leases.store.ts';
import { contactZones, type ContactZones } from '../broadcasts/send-time.ts';
import type { BroadcastRow } from '../broadcasts/broadcasts.store.ts';
import { isReplaced, readSample } from '../../audience/index.ts';
import { AudienceGrown, AudienceReplaced, decideSubject, endTest, isTesting } from './send-page.ts';

/**
 * Returns the current pass of a broadcast; most have a single one. A pass that passed over contacts with quiet hours is
 * followed by another when the first of them may get mail. It is for the members that the segment had at the start.
 */
export async function readPass(world: World, broadcast: BroadcastRow, filter: Filter): Promise<Pass> {
  const members = broadcast.pass_at === null ? filter : withoutLater(filter, broadcast);
  const single = { at: broadcast.ab_decides_at, filter: members, next: undefined };
  return (await readLocalPass(world, broadcast, filter)) ?? single;
}

interface PassInProgress {
  broadcast: BroadcastRow;
  owner: string;
  pass: Pass;
}

/**
 * Starts a pass and returns the broadcast to send; undefined if it was canceled meanwhile or no contacts are due yet.
 * Throws if the audience of an approved broadcast has grown or was replaced. `audience` is that of all passes.
 */
export async function startPass(
  world: World,
  { broadcast, owner, pass }: PassInProgress,
  audience: Audience,
): Promise<BroadcastRow | undefined> {
  const { db, clock } = world;
  const { id, team_id: teamId, status, next_at: nextAt } = broadcast;
  if (status === 'sending') {
    if (nextAt === null) return broadcast;
    if (isTesting(broadcast) && broadcast.ab_decides_at !== null) return decideSubject(world, broadcast, owner);
    return (await db.tx((tx) => beginPass(tx, { id, owner }))) ? broadcast : undefined;
  }
  if (pass.at !== null && pass.at > clock.now()) {
    await waitForStart(db, { id, owner, nextAt: pass.at });
    return undefined;
  }
  const { contacts, recipients } = await countRecipients(db, teamId, {
    audience,
    topicId: broadcast.topic_id,
    now: clock.now(),
  });
  if (hasGrown(broadcast.approved_contacts, recipients)) throw new AudienceGrown(recipients);
  await mustBeApproved(world, broadcast, { audience, recipients });
  const at = clock.now();
  const begun = await db.tx((tx) => beginBroadcast(tx, { id, owner, at, total: contacts, passAt: pass.at }));
  return begun ? broadcast : undefined;
}

/** Throws if the contacts that a person approved were replaced by others before the broadcast began. */
async function mustBeApproved(
  world: World,
  broadcast: BroadcastRow,
  to: { audience: Audience; recipients: number },
): Promise<void> {
  const { approved_audience: approved, topic_id: topicId, team_id: teamId } = broadcast;
  const before = readSample(approved);
  if (before === null) return;
  const now = await sampleAudience({ store: world, teamId }, { ...to, topicId }, before);
  if (isReplaced(before, now)) throw new AudienceReplaced();
}

/** Ends a pass after its last page: the broadcast waits for the next pass, or is finished. */
export async function endPass(world: World, { broadcast, owner, pass }: PassInProgress): Promise<void> {
  const { db, clock } = world;
  const { id } = broadcast;
  const now = clock.now();
  const { next } = pass;
  if (!next && (await db.tx((tx) => waitForQuietEnd(tx, { id, owner, now })))) return;
  if (isTesting(broadcast)) return endTest(world, broadcast, owner);
  await db.tx((tx) =>
    next
      ? waitForPass(tx, { id, owner, passAt: next.at, nextAt: Math.max(next.dueAt, now) })
      : finishBroadcast(tx, { id, owner, at: now }),
  );
}

/**
 * Returns the current pass of a broadcast that is sent at the local hour; undefined for any other. The time zones of
 * the contacts are read again each time and grouped by the moment at which their clocks show the hour. There is a pass
 * for each moment, one of which includes contacts without a time zone, and a last one for contacts that the others
 * missed, such as one that moved to a zone whose moment had passed. No contact gets the broadcast twice: its report has
 * one row per address.
 */
async function readLocalPass({ db }: World, broadcast: BroadcastRow, filter: Filter): Promise<Pass | undefined> {
  const { team_id: teamId, local_at: local, scheduled_at: scheduledAt } = broadcast;
  if (local === null || scheduledAt === null) return undefined;
  const found = await contactZones(db, teamId);
  const moments = groupByMoment(found, local);
  const otherwise = found.fallback?.toMoment(local) ?? scheduledAt;
  const inOrder = [...new Set([...moments.keys(), otherwise])].sort((a, b) => a - b);
  const last = inOrder.at(-1) ?? otherwise;
  const at = broadcast.pass_at ?? inOrder[0] ?? otherwise;
  const later = inOrder.find((moment) => moment > at);
  const isForAll = found.zones.size === 0 && at === otherwise;
  return {
    at,
    filter: at > last ? withoutLater(filter, broadcast) : due(filter, found, { moments, at, otherwise }),
    next:
      later !== undefined
        ? { at: later, dueAt: later }
        : at > last || isForAll
          ? undefined
          : { at: last + 1, dueAt: last },
  };
}

/** Groups the texts of time zones by the moment at which their clocks show the time. */
function groupByMoment({ zones }: ContactZones, local: number): Map<number, string[]> {
  const moments = new Map<number, string[]>();
  for (const [text, zone] of zones) {
    const at = zone.toMoment(local);
    moments.set(at, [...(moments.get(at) ?? []), text]);
  }
  return moments;
}

/**
 * Narrows the filter to members who are due. Contacts without a time zone are due together with the zones of the same
 * moment.
 */
function due(
  filter: Filter,
  { property, zones }: ContactZones,
  { moments, at, otherwise }: { moments: ReadonlyMap<number, readonly string[]>; at: number; otherwise: number },
): Filter {
  const here = moments.get(at) ?? [];
  const names = (values: readonly string[]): Filter => {
    if (!property || values.length === 0) return { kind: 'never' };
    const place = { of: 'property', propertyId: property.id, slot: property.slot } as const;
    // A condition with one value is a range of the index, read page by page.
    return { kind: 'text', place, op: values.length === 1 ? 'eq' : 'in', values };
  };
  const elsewhere = [...zones.keys()].filter((text) => !here.includes(text));
  const part: Filter = at === otherwise ? { kind: 'none', of: [names(elsewhere)] } : names(here);
  return { kind: 'all', of: [filter, part] };
}

/** Leaves out members who were added after the broadcast began. */
const withoutLater = (filter: Filter, { started_at: startedAt }: BroadcastRow): Filter => ({
  kind: 'all',
  of: [filter, ...(startedAt === null ? [] : [{ kind: 'created', op: 'lte', ms: Number(startedAt) } as const])],
});

/** One walk through those members of a segment who are due. */
export interface Pass {
  /** Moment at which they are due; null if all are due when it is sent. */
  at: number | null;
  filter: Filter;
  /** Next pass and when it is due; undefined in the last one. */
  next: { at: number; dueAt: number } | undefined;
}
