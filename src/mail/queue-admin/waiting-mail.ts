import { isoTime, nextTurn } from '../../platform/clock.ts';
import { mustBeAlone, type Page } from '../../platform/db/index.ts';
import type { Store } from '../../platform/store.ts';
import { emailRowsByIds, emailSizes, presentEnvelope, loadStory } from '../emails/index.ts';
import { loadSlugs, suspendedTeams } from '../../tenancy/teams/index.ts';
import {
  holdsOnMail,
  waitingPage,
  countTouched,
  findQuietTimes,
  heldIn,
  holdsById,
  retryNow,
  takeUntouched,
  untouchedIds,
  pendingDeliveries,
  queuedRows,
  type WaitingFilter,
  type WaitingRow,
} from '../queue/index.ts';
import { explainWaiting } from '../throttles/index.ts';
import { lastAttempts } from './read-queue.ts';
import { asStored, presentHold, readRetrySelection, readSelection } from './holds.ts';
import type { BodyOf } from '../../contract/index.ts';
import type { World } from '../../platform/world.ts';
import type { OperatorCtx } from '../../tenancy/access/index.ts';
import { settleDropped } from '../settle/index.ts';
import { notFound } from '../../platform/refusal.ts';

const HASH_HEX = 16;

/**
 * Presents a subject to an operator as configured. The hash is keyed, because subjects are short enough to be guessed.
 */
function shownSubject({ config, secrets }: Pick<Store, 'config' | 'secrets'>, subject: string) {
  const { subjects } = config.operators;
  const hash = (): string => secrets.mac('queue subject', Buffer.from(subject)).toString('hex').slice(0, HASH_HEX);
  return { subject: subjects === 'text' ? subject : null, subject_hash: subjects === 'hash' ? hash() : null };
}

const HAS_NO_TIME: ReadonlySet<WaitingRow['state']> = new Set(['held', 'team_suspended', 'under_way']);

export async function listWaiting(store: Store, filter: WaitingFilter, page: Page) {
  const { db, clock } = store;
  const { destination, team_id: team, email_id: email, state, id_end: end } = filter;
  if (end !== undefined) mustBeAlone(filter);
  const narrowed = {
    destination: destination === undefined ? undefined : asStored(destination),
    state,
    team_id: team?.toLowerCase(),
    email_id: email?.toLowerCase(),
    id_end: end,
  };
  const moment = { now: clock.now(), suspendedTeams: await suspendedTeams(db) };
  const { rows, hasMore } = await waitingPage(db, narrowed, { ...moment, page });
  const last = await lastAttempts(db, rows);
  const explain = await explainWaiting(store, rows);
  const quiet = await findQuietTimes(db, rows, moment.now);
  const broadcastIds = [...new Set(rows.flatMap((row) => row.broadcast_id ?? []))];
  const reasons = new Map((await holdsOnMail(db, broadcastIds)).map(({ id, reason }) => [id, reason]));
  const about = await aboutEmails(store, rows);
  const present = (row: WaitingRow) => ({
    id: row.id,
    email_id: row.email_id,
    team_id: row.team_id,
    ...about(row),
    destination: row.destination,
    recipients: JSON.parse(row.recipients) as string[],
    state: row.state,
    attempts: row.attempt,
    since: isoTime(row.accepted_at),
    until: HAS_NO_TIME.has(row.state) ? null : isoTime(row.due_at),
    hold_id: row.hold_id,
    hold_reason: reasons.get(row.hold_id ?? '') ?? null,
    waits_because:
      row.state === 'waiting' || row.state === 'retrying'
        ? (quiet.get(row.email_id)?.reason ?? explain({ ...row, isMarketing: row.is_marketing === 1 }))
        : null,
    last_attempt: last(row),
  });
  return { object: 'list' as const, has_more: hasMore, data: rows.map(present) };
}

/** Loads the details of emails that are not in the rows of the queue. */
async function aboutEmails(store: Store, rows: readonly WaitingRow[]) {
  const ids = [...new Set(rows.map((row) => row.email_id))];
  const emails = new Map((await emailRowsByIds(store.db, ids)).map((email) => [email.id, email]));
  const sizes = await emailSizes(store, ids);
  const slugs = await loadSlugs(store.db, [...new Set(rows.map((row) => row.team_id))]);
  return ({ email_id: id, team_id: team }: WaitingRow) => {
    const email = emails.get(id);
    return {
      team: slugs.get(team) ?? '',
      from: email?.sender ?? '',
      ...shownSubject(store, email?.subject ?? ''),
      size: sizes.get(id) ?? 0,
    };
  };
}

/** Short enough that claims and sends run in between. */
const BATCH_ROWS = 200;

const HOLDS_NAMED_MAX = 100;

export async function retryWaiting({ store: { db, clock } }: OperatorCtx<World>, input: BodyOf<'retryQueue'>) {
  const selection = readRetrySelection(input);
  const deliveries = await retryNow(db, selection, clock.now());
  const byHold = await heldIn(db, selection);
  const held = [...byHold.values()].reduce((sum, count) => sum + count, 0);
  const holds = await holdsById(db, [...byHold.keys()], HOLDS_NAMED_MAX);
  return { object: 'queue_retry' as const, deliveries, held, holds: holds.map(presentHold) };
}

/**
 * Drops the deliveries that are not claimed: removes their rows and records their failure, in one transaction. A
 * concurrent claim either has the row or does not, and a handed-off delivery is never touched.
 */
export async function dropWaiting({ store }: OperatorCtx<World>, input: BodyOf<'dropQueue'>) {
  const selection = readSelection(input);
  const reason = input.reason.trim();
  let deliveries = 0;
  for await (const ids of untouchedIds(store.db, selection, BATCH_ROWS)) {
    const { count, logLines } = await store.db.tx(async (tx) => {
      const rows = await takeUntouched(tx, ids);
      return {
        count: rows.length,
        logLines: await settleDropped(store, tx, rows, { reason: 'dropped_by_operator', detail: reason }),
      };
    });
    deliveries += count;
    for (const say of logLines) say(store.mailLog);
    await nextTurn();
  }
  return { object: 'queue_drop' as const, deliveries, left: await countTouched(store.db, selection) };
}

/** Finds an email of any team, in the queue or past it, by its id or that of one of its deliveries. */
export async function readQueuedEmail(store: Store, emailOrDelivery: string) {
  const { db } = store;
  const id = emailOrDelivery.toLowerCase();
  const [delivery] = await queuedRows(db, [id]);
  const [email] = await emailRowsByIds(db, [delivery?.email_id ?? id]);
  if (!email) throw notFound('Email');
  const [slugs, sizes] = await Promise.all([loadSlugs(db, [email.team_id]), emailSizes(store, [email.id])]);
  return {
    object: 'queued_email' as const,
    id: email.id,
    team_id: email.team_id,
    team: slugs.get(email.team_id) ?? '',
    request_id: email.request_id,
    ...presentEnvelope(email),
    ...shownSubject(store, email.subject),
    size: sizes.get(email.id) ?? 0,
    ...(await loadStory(db, email.id)),
    pending: await pendingDeliveries(store, email.id),
  };
}
