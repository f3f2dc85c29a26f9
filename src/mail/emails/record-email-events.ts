import {
  isByMachine,
  LAST_EVENTS,
  recordEvents,
  type Happening,
  type LastEvent,
  type NewEvent,
} from '../events/index.ts';
import type { Executor } from '../../platform/db/index.ts';
import type { Ids } from '../../platform/ids/index.ts';
import {
  countClicks,
  countOutcomes,
  type BroadcastOutcome,
} from '../../features/campaigns/broadcast-recipients/index.ts';
import { advanceLastEvent, type EmailRow } from './emails.store.ts';

/** What the envelope of an event says of its email. */
export type EventEmail = Pick<EmailRow, 'id' | 'team_id' | 'domain_id' | 'broadcast_id'>;

export type EmailEvent = {
  email: EventEmail;
  at: number;
  /** Given where a repetition must be recognised. */
  id?: string;
  /**
   * Whether the event is the first of its type for its email, so that counts of emails include it. Given by callers that know it
   * because they have moved the email to the state themselves; otherwise `recordEmailEvents` finds it out.
   */
  isFirst?: boolean;
  /** It counts towards no rate by which broadcasts are held. */
  isExcused?: boolean;
} & Happening<`email.${LastEvent | 'unsubscribed'}`>;

/**
 * Moves emails forward to the states of these events, and records the events. An email moves to a state at most once, so the
 * events of that move are the first of their type: several where deliveries of one email settle together. They are counted
 * once (`additionsOf` of `events/metric-counts.ts`). What a machine opened or clicked moves nothing, and no more does a reader who leaves. Those of a broadcast are added to its report. States come before counts, in the order of `LAST_EVENTS`: transactions that write the same rows never
 * deadlock.
 */
export async function recordEmailEvents(tx: Executor, ids: Ids, events: readonly EmailEvent[]): Promise<void> {
  if (events.length === 0) return;
  const moves = new Map<string, Set<string>>();
  for (const event of events) {
    const { type, email, isFirst } = event;
    if (isFirst !== undefined || isByMachine(event)) continue;
    const emails = moves.get(type);
    if (emails) emails.add(email.id);
    else moves.set(type, new Set([email.id]));
  }
  const moved = new Set<string>();
  for (const state of LAST_EVENTS) {
    const type = `email.${state}`;
    for (const id of await advanceLastEvent(tx, [...(moves.get(type) ?? [])], state)) moved.add(`${id} ${type}`);
  }
  await recordEvents(
    tx,
    ids,
    events.map(({ email, isFirst, isExcused: _, ...event }): NewEvent => {
      const { id: subjectId, team_id: teamId, domain_id: domainId, broadcast_id: broadcastId } = email;
      const envelope = { teamId, subjectId, domainId, broadcastId: broadcastId ?? undefined };
      return { ...event, ...envelope, isFirst: isFirst ?? moved.has(`${subjectId} ${event.type}`) };
    }),
  );
  await reportToBroadcasts(tx, ids, events);
}

async function reportToBroadcasts(tx: Executor, ids: Ids, events: readonly EmailEvent[]): Promise<void> {
  const outcomes = events.filter(({ email, type }) => email.broadcast_id !== null && !BORN.has(type)).map(outcomeOf);
  if (outcomes.length === 0) return;
  await countOutcomes(tx, ids, outcomes);
  await countClicks(tx, () => ids.uuid(), outcomes);
}

/** An email that is accepted is in the report from the beginning. */
const BORN = new Set<string>(['email.queued', 'email.scheduled']);

function outcomeOf(event: EmailEvent): BroadcastOutcome {
  const outcome = {
    emailId: event.email.id,
    type: event.type,
    isMachine: isByMachine(event),
    isExcused: event.isExcused ?? false,
  };
  if (event.type === 'email.clicked') return { ...outcome, link: event.data.click.link };
  if (event.type === 'email.bounced') return { ...outcome, bounce: BOUNCES[event.data.bounce.type] };
  return outcome;
}

const BOUNCES = { Permanent: 'permanent', Transient: 'transient', Undetermined: 'undetermined' } as const;
