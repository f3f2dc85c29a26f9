import type { Executor } from '../../platform/db/index.ts';
import type { World } from '../../platform/world.ts';
import { forgetFirstAttempts, type AttemptRow, type TriedRecipient } from '../emails/index.ts';
import {
  toEventEmail,
  insertDeliveries,
  removeClaimed,
  reschedule,
  type DeliveryRow,
  type Outcome,
  type Settle,
  type Tried,
} from '../queue/index.ts';
import type { Via } from '../deliver/index.ts';
import type { ReputationCount } from '../reputation/index.ts';
import type { Stream } from '../stream-rates/index.ts';
import { boundOutcomes } from './bound-outcomes.ts';
import { conclude, causeFor, isUntried, type Conclusion } from './conclude.ts';
import { createRefusalCounter, type RefusalCounter } from './refusals.ts';
import { measureReputation, settleOutcomes, type Settlement } from './settle-outcomes.ts';
import { replyText, type Reply } from '../../protocol/smtp-reply/index.ts';
import { readAsked, wants, type NoticeAction, type NoticeRecipient, type Notify } from '../../protocol/dsn.ts';
import type { NoticeOrder } from '../accept/index.ts';

const TRANSCRIPT_CHARS_MAX = 8000;

/**
 * Builds the row of `delivery_attempts` for an attempt; undefined if it was broken off before it began and counts as
 * none.
 */
function buildAttempt(
  world: World,
  row: DeliveryRow,
  outcomes: readonly Outcome[],
  { at, durationMs, conversation, via }: Tried,
): AttemptRow | undefined {
  const tried = outcomes.filter((outcome) => outcome.kind !== 'suppressed' && !isUntried(outcome));
  const [first] = tried;
  if (!first) return undefined;
  const mx = conversation?.mx ?? ('mx' in first ? first.mx : undefined);
  return {
    email_id: row.email_id,
    id: world.ids.uuid(),
    created_at: at,
    attempt: row.attempt,
    destination: row.destination,
    mx: mx ?? null,
    relay: ('relay' in first ? first.relay : undefined) ?? null,
    source: via?.source ?? null,
    provider: via?.provider ?? null,
    address: conversation?.address ?? null,
    tls_version: conversation?.tls?.version ?? null,
    tls_cipher: conversation?.tls?.cipher ?? null,
    duration_ms: durationMs,
    recipients: JSON.stringify(tried.map(describeTriedRecipient)),
    transcript: conversation?.transcript.join('\n').slice(0, TRANSCRIPT_CHARS_MAX) ?? null,
  };
}

function describeTriedRecipient(outcome: Outcome): TriedRecipient {
  const said = 'reply' in outcome && outcome.reply ? replyText(outcome.reply) : undefined;
  const detail = 'detail' in outcome ? outcome.detail : undefined;
  return {
    email: outcome.address,
    outcome: outcome.kind,
    reason: 'reason' in outcome ? outcome.reason : null,
    reply: said ?? detail ?? null,
    cause: (outcome.kind === 'bounced' || outcome.kind === 'deferred' ? causeFor(outcome) : undefined) ?? null,
  };
}

const HOUR_MS = 3_600_000;

/** Returns the delivery notices that the sender requested (RFC 3461 §6), for the events of one attempt. */
function buildNotices(
  world: World,
  row: DeliveryRow,
  outcomes: readonly Outcome[],
  { events }: Conclusion,
): NoticeOrder[] {
  const asked = readAsked(row.asked);
  if (!asked || asked.sender === '') return [];
  const orders = new Map<NoticeAction, NoticeRecipient[]>();
  for (const { type, data } of events) {
    const kind = NOTICE_KINDS[type];
    if (!kind) continue;
    for (const address of data?.to ?? []) {
      const outcome = outcomes.find((one) => one.address === address);
      // The next server supports DSN and sends the notice itself.
      if (outcome?.kind === 'delivered' && outcome.isNoticed) continue;
      if (!wants(asked, address, kind.what)) continue;
      orders.set(kind.action, [...(orders.get(kind.action) ?? []), describeNoticeRecipient(address, kind, outcome)]);
    }
  }
  const retryUntil = new Date(row.accepted_at + world.config.delivery.give_up_hours * HOUR_MS);
  return [...orders].map(([action, recipients]) => ({
    emailId: row.email_id,
    teamId: row.team_id,
    asked,
    action,
    recipients,
    ...(action === 'delayed' ? { retryUntil } : {}),
  }));
}

interface NoticeKind {
  what: Notify;
  action: NoticeAction;
  /** The status without an enhanced code in the reply. */
  status: string;
}

const FAILED: NoticeKind = { what: 'FAILURE', action: 'failed', status: '5.0.0' };
const NOTICE_KINDS: Readonly<Record<string, NoticeKind>> = {
  'email.delivered': { what: 'SUCCESS', action: 'relayed', status: '2.0.0' },
  'email.delivery_delayed': { what: 'DELAY', action: 'delayed', status: '4.0.0' },
  'email.bounced': FAILED,
  'email.failed': FAILED,
  'email.suppressed': { ...FAILED, status: '5.7.1' },
};

function describeNoticeRecipient(address: string, kind: NoticeKind, outcome: Outcome | undefined): NoticeRecipient {
  const reply = outcome && 'reply' in outcome ? outcome.reply : undefined;
  const remote = outcome && 'mx' in outcome ? outcome.mx : undefined;
  const detail = reply ? replyText(reply) : outcome && 'detail' in outcome ? outcome.detail : undefined;
  return {
    address,
    status: toNoticeStatus(kind, reply),
    ...(detail === undefined ? {} : { diagnostic: detail }),
    ...(remote === undefined ? {} : { remote: /^\S+/.exec(remote)?.[0] ?? remote }),
  };
}

/**
 * Returns the enhanced code of the reply with the class of the action: mail that was given up has failed, even if the
 * last reply was 4xx.
 */
function toNoticeStatus({ status }: NoticeKind, reply: Reply | undefined): string {
  const said = reply?.enhanced ?? status;
  return said[0] === status[0] ? said : `${status[0]}${said.slice(1)}`;
}

interface Settled extends Settlement {
  row: DeliveryRow;
}

/** Settles deliveries that `owner` claimed. One whose lease is lost was settled already, or another node settles it. */
export function createSettle(
  world: World,
  owner: string,
  refusals: RefusalCounter = createRefusalCounter(world),
): Settle {
  const write = world.commits.lane<Settled, boolean>(async (tx, items) => {
    const ours = await endTheirClaims(world, tx, owner, items);
    await settleOutcomes(world, tx, ours);
    // Unsigned mail gets a new date; otherwise it would have the date of days ago once its domain is verified again.
    const unsigned = ours.filter(({ conclusion }) => conclusion.retry?.awaitsDomain === true);
    await forgetFirstAttempts(tx, [...new Set(unsigned.map(({ row }) => row.email_id))]);
    return items.map((item) => ours.includes(item));
  });
  return async (row, settled: Outcome[], tried) => {
    const outcomes = boundOutcomes(settled);
    const conclusion = conclude(world, row, outcomes);
    const attempt = tried && buildAttempt(world, row, outcomes, tried);
    const notices = buildNotices(world, row, outcomes, conclusion);
    const reputation = [
      ...countReputation(row, outcomes, tried?.via),
      ...(tried?.refusedBefore ?? []).flatMap((refusal) => countReputation(row, refusal.outcomes, refusal.via)),
    ];
    const stream = findStream(row);
    if (await write({ row, email: toEventEmail(row), stream, conclusion, attempt, reputation, notices })) {
      measureReputation(world, reputation);
      for (const logLines of conclusion.logLines) logLines(world.mailLog);
      if (attempt) traceAttempt(world, attempt, outcomes);
      refusals.note(row, outcomes);
    }
  };
}

/** Counts what a provider replied about the recipients of a delivery. Mail that no server has seen does not count. */
function countReputation(row: DeliveryRow, outcomes: readonly Outcome[], via: Via | undefined): ReputationCount[] {
  if (via === undefined) return [];
  const counts = new Map<string, ReputationCount>();
  for (const outcome of outcomes) {
    if (outcome.kind !== 'delivered' && outcome.kind !== 'deferred' && outcome.kind !== 'bounced') continue;
    if (outcome.kind === 'deferred' && !(outcome.reason === 'refused_for_now' && 'reply' in outcome)) continue;
    if (outcome.kind === 'bounced' && outcome.reason !== 'refused') continue;
    const cause = outcome.kind === 'delivered' ? '' : (causeFor(outcome) ?? '');
    const key = `${outcome.kind} ${cause}`;
    const before = counts.get(key);
    if (before) before.count += 1;
    else
      counts.set(key, {
        source: via.source,
        provider: via.provider ?? '',
        domainId: row.domain_id,
        teamId: row.team_id,
        isMarketing: row.is_marketing === 1,
        outcome: outcome.kind === 'delivered' ? 'accepted' : outcome.kind,
        cause,
        count: 1,
      });
  }
  return [...counts.values()];
}

/** A delivery that names a contact and no broadcast was sent by a run of an automation. */
function findStream({ broadcast_id: broadcastId, contact_id: contactId }: DeliveryRow): Stream {
  if (broadcastId !== null) return 'broadcast';
  return contactId === null ? 'transactional' : 'automation';
}

function traceAttempt({ tracer }: World, attempt: AttemptRow, outcomes: readonly Outcome[]): void {
  tracer.delivered({
    id: attempt.id,
    emailId: attempt.email_id,
    startMs: attempt.created_at,
    durationMs: attempt.duration_ms,
    attempt: attempt.attempt,
    destination: attempt.destination,
    mx: attempt.mx ?? undefined,
    outcomes: [...new Set(outcomes.map(({ kind }) => kind))],
  });
}

/**
 * The reason why deliveries are dropped: by an operator, with the operator's reason in `detail`, or because their
 * broadcast was canceled.
 */
type Dropped = { reason: 'dropped_by_operator'; detail: string } | { reason: 'broadcast_canceled' };

/**
 * Records that these deliveries were dropped, in the transaction that removed them. Returns log lines for after the
 * commit.
 */
export async function settleDropped(
  world: World,
  tx: Executor,
  rows: readonly DeliveryRow[],
  why: Dropped,
): Promise<Conclusion['logLines']> {
  const settled = rows.map((row): Settlement => {
    const addresses = JSON.parse(row.recipients) as string[];
    const outcomes = addresses.map((address): Outcome => ({ kind: 'failed', address, ...why }));
    const conclusion = conclude(world, row, outcomes);
    return {
      email: toEventEmail(row),
      stream: findStream(row),
      conclusion,
      notices: buildNotices(world, row, outcomes, conclusion),
    };
  });
  await settleOutcomes(world, tx, settled);
  return settled.flatMap(({ conclusion }) => conclusion.logLines);
}

async function endTheirClaims(world: World, tx: Executor, owner: string, items: Settled[]): Promise<Settled[]> {
  const isOver = ({ conclusion }: Settled): boolean => !conclusion.retry && !conclusion.doubt;
  const over = await removeClaimed(
    tx,
    owner,
    items.filter(isOver).map(({ row }) => row),
  );
  const ours: Settled[] = [];
  for (const item of items) {
    // Deleted from the set: of a delivery that is settled twice in one commit, the second does not count as ours.
    const isOurs = isOver(item) ? over.delete(item.row.id) : await keep(world, tx, owner, item);
    if (isOurs) ours.push(item);
    else
      world.log.warn(
        { emailId: item.row.email_id },
        'received an outcome for a delivery that this process no longer holds',
      );
  }
  return ours;
}

/**
 * Keeps a delivery that has a retry or a doubt. Recipients to try again stay in its row. Those in doubt stay in a row
 * that is never sent again: in the same one, or in one of their own if other recipients are tried again. Returns false
 * if the lease is lost.
 */
async function keep(
  world: World,
  tx: Executor,
  owner: string,
  { row, conclusion, attempt: last }: Settled,
): Promise<boolean> {
  const { retry, doubt } = conclusion;
  const inDoubt = doubt && {
    recipients: doubt.recipients,
    handed_off_at: doubt.handedOffAt,
    due_at: doubt.dueAt,
    attempt: row.attempt,
  };
  if (!retry) return inDoubt !== undefined && reschedule(tx, owner, row, inDoubt);
  const { recipients, attempt, dueAt, awaitsDomain, isFailing, isThrottled } = retry;
  const source = last?.source ?? undefined;
  const next = {
    recipients,
    attempt,
    due_at: dueAt,
    handed_off_at: null,
    awaitsDomain,
    isFailing,
    isThrottled,
    source,
  };
  const isOurs = await reschedule(tx, owner, row, next);
  if (isOurs && inDoubt) {
    const apart = { id: world.ids.uuid(), recipients: JSON.stringify(doubt.recipients), lease_owner: null };
    await insertDeliveries(tx, [{ ...row, ...inDoubt, ...apart }]);
  }
  return isOurs;
}
