import type { EventData, EventDraft } from '../events/index.ts';
import { isoTime } from '../../platform/clock.ts';
import { emailLogFields, type MailLog } from '../../platform/log/index.ts';
import { isSimulatorDomain } from '../../platform/config/index.ts';
import type { World } from '../../platform/world.ts';
import { nextAttempt } from '../../protocol/retry-schedule.ts';
import { classifyReply } from '../../platform/reply-rules/index.ts';
import { bounceOfReply, replyText, type Bounce, type ReplyCause } from '../../protocol/smtp-reply/index.ts';
import { cutText, PEER_TEXT_CHARS_MAX } from '../deliver/index.ts';
import type { DeliveryRow, Outcome } from '../queue/index.ts';

type Of<Kind extends Outcome['kind']> = Extract<Outcome, { kind: Kind }>;

/** The types of events that outcomes are turned into. */
type Concluded =
  | 'email.delivered'
  | 'email.complained'
  | 'email.opened'
  | 'email.clicked'
  | 'email.failed'
  | 'email.bounced'
  | 'email.suppressed'
  | 'email.delivery_delayed';

/**
 * Consequences of outcomes: of the deliveries of a connection, or of a report (`concludeReport` of `settle-report.ts`).
 */
export interface Conclusion {
  events: EventDraft<Concluded>[];
  /** The events that are about mail which no mail server has seen, because our own limits made it wait. */
  unseen: EventDraft<Concluded>[];
  suppress: { email: string; origin: 'bounce' | 'complaint' }[];
  /** Lines of the mail log, written after the commit. */
  logLines: ((log: MailLog) => void)[];
  /**
   * Recipients that are tried again at `dueAt`, or as soon as the domain is verified; `attempt` is the number of
   * attempts that count as made. `isFailing`: the destination as a whole failed. `isThrottled`: nothing was attempted,
   * because the destination limits our mail.
   */
  retry:
    | {
        recipients: string[];
        dueAt: number;
        attempt: number;
        awaitsDomain: boolean;
        isFailing: boolean;
        isThrottled: boolean;
      }
    | undefined;
  /**
   * Recipients for which the final reply was lost. This email is not sent to them again. They fail at `dueAt` unless a
   * delivery report arrives first.
   */
  doubt: { recipients: string[]; handedOffAt: number; dueAt: number } | undefined;
}

export const emptyConclusion = (): Conclusion => ({
  events: [],
  unseen: [],
  suppress: [],
  logLines: [],
  retry: undefined,
  doubt: undefined,
});

const HOUR_MS = 3_600_000;

const buildLogFields = ({ email_id: emailId, request_id: requestId }: DeliveryRow) =>
  emailLogFields(emailId, requestId);

/** Turns the outcomes of one delivery into events, suppressions and a retry. Pure except for the clock and random numbers. */
export function conclude(world: World, row: DeliveryRow, outcomes: readonly Outcome[]): Conclusion {
  const now = world.clock.now();
  const done = emptyConclusion();
  const groups = Map.groupBy(outcomes, (outcome) => toGroupKey(outcome));
  for (const group of groups.values()) {
    const first = group[0];
    if (!first) continue;
    const to = group.map((outcome) => outcome.address);
    switch (first.kind) {
      case 'delivered':
        concludeDelivered(world, row, done, group as Of<'delivered'>[], to);
        break;
      case 'deferred':
        concludeDeferred(world, row, done, group as Of<'deferred'>[], to, now);
        break;
      case 'bounced':
        concludeBounced(world, row, done, group as Of<'bounced'>[], to);
        break;
      case 'suppressed':
        concludeSuppressed(row, done, group as Of<'suppressed'>[], to);
        break;
      case 'failed':
        done.events.push({
          type: 'email.failed',
          data: { to, failed: { reason: first.reason, ...('detail' in first ? { message: first.detail } : {}) } },
        });
        done.logLines.push((log) => log.failed({ ...buildLogFields(row), to, reason: first.reason }));
        break;
      case 'ambiguous': {
        // The waiting period starts now, not when the final dot was sent. `queue/recover.ts` identifies such a delivery
        // by `dueAt - handedOffAt === ambiguous_hours`.
        const handedOffAt = now;
        const dueAt = handedOffAt + world.config.delivery.ambiguous_hours * HOUR_MS;
        done.doubt = { recipients: to, handedOffAt, dueAt };
        done.logLines.push((log) => log.ambiguous({ ...buildLogFields(row), to, detail: first.detail }));
        break;
      }
      default:
        first satisfies never;
    }
  }
  return done;
}

/**
 * Returns the key of the event that an outcome shares with others: recipients with the same kind of outcome share one;
 * bounces, suppressions and failures only with the same reason. All deferrals are one group, whose first decides: the
 * row has one next attempt.
 */
function toGroupKey(outcome: Outcome): string {
  switch (outcome.kind) {
    case 'bounced': {
      const { type, subType } = bounceFor(outcome);
      return `bounced ${type} ${subType}`;
    }
    case 'suppressed':
      return `suppressed ${outcome.origin}`;
    case 'failed':
      return `failed ${outcome.reason}`;
    default:
      return outcome.kind;
  }
}

function concludeDelivered(
  world: World,
  row: DeliveryRow,
  done: Conclusion,
  group: Of<'delivered'>[],
  to: string[],
): void {
  done.events.push({ type: 'email.delivered', data: { to } });
  const first = group[0];
  if (first) {
    const tls = first.tls === null ? null : `${first.tls.version} ${first.tls.cipher}`;
    done.logLines.push((log) =>
      log.delivered({ ...buildLogFields(row), to, mx: first.mx, reply: replyText(first.reply), tls }),
    );
  }
  const at = isoTime(world.clock.now());
  // Only outcomes of the mailbox simulator have a `then`.
  for (const { address, then = [] } of group) {
    for (const next of then) {
      if (next === 'complained') done.events.push({ type: 'email.complained', data: { to: [address] } });
      if (next === 'opened')
        done.events.push({
          type: 'email.opened',
          data: { to: [address], open: { ...SIMULATED_READER, timestamp: at } },
        });
      if (next === 'clicked') {
        done.events.push({
          type: 'email.clicked',
          data: {
            to: [address],
            click: { ...SIMULATED_READER, link: 'https://example.com/', timestamp: at },
          },
        });
      }
    }
  }
}

const SIMULATED_READER = { ipAddress: '127.0.0.1', userAgent: 'mailbox simulator' };

function concludeDeferred(
  world: World,
  row: DeliveryRow,
  done: Conclusion,
  group: Of<'deferred'>[],
  to: string[],
  now: number,
): void {
  const tried = group.filter((outcome) => !isUntried(outcome));
  const first = tried[0];
  if (!first) return concludeUntried(world, row, done, group, to, now);
  const { retry_minutes: minutes, give_up_hours: hours } = world.config.delivery;
  const next = nextAttempt({
    attempt: row.attempt,
    firstAttemptAt: row.accepted_at,
    now,
    scheduleMs: minutes.map((minute) => minute * 60_000),
    giveUpAfterMs: hours * HOUR_MS,
    random: world.random,
  });
  if ('giveUp' in next && isOurFault(first)) {
    // It failed without a refusal by the recipient's mail server.
    const { reason } = first;
    done.events.push({ type: 'email.failed', data: { to, failed: { reason } } });
    done.logLines.push((log) => log.failed({ ...buildLogFields(row), to, reason }));
    return;
  }
  if ('giveUp' in next) {
    const message = `Delivery failed after ${row.attempt} attempts in the retry period of ${hours} hours. Last error: ${first.detail}`;
    return giveUp(row, done, group, { message, detail: first.detail, attempts: row.attempt });
  }
  const waitMs = Math.max(...tried.map((outcome) => outcome.waitMs ?? 0));
  const dueAt = first.retryAfterMs === undefined ? Math.max(next.at, now + waitMs) : now + first.retryAfterMs;
  const awaitsDomain = first.reason === 'domain_unverified';
  const isFailing = group.some(isDestinationFailure);
  done.retry = { recipients: to, dueAt, attempt: row.attempt, awaitsDomain, isFailing, isThrottled: false };
  const { reason, detail } = first;
  done.logLines.push((log) =>
    log.deferred({ ...buildLogFields(row), to, reason, detail, nextAttemptAt: isoTime(dueAt) }),
  );
  // Later deferrals of the same recipients record no event.
  if (row.attempt === 1)
    done.events.push({
      type: 'email.delivery_delayed',
      data: buildDelay(tried, row.accepted_at + hours * HOUR_MS),
    });
}

/** Ends a delivery whose retry period is over, with a bounce that lists the last reply for each recipient. */
function giveUp(
  row: DeliveryRow,
  done: Conclusion,
  group: Of<'deferred'>[],
  { message, detail, attempts }: { message: string; detail: string; attempts: number },
): void {
  const to = group.map((outcome) => outcome.address);
  const diagnosticCode = describeEach(group);
  const event = {
    type: 'email.bounced' as const,
    data: { to, bounce: { type: 'Transient' as const, subType: 'General' as const, message, diagnosticCode } },
  };
  done.events.push(event);
  if (attempts === 0) done.unseen.push(event);
  done.logLines.push((log) => log.gaveUp({ ...buildLogFields(row), to, detail, attempts }));
}

/** Decides what becomes of mail that was put off before anything was attempted, which counts as no attempt. */
function concludeUntried(
  world: World,
  row: DeliveryRow,
  done: Conclusion,
  group: Of<'deferred'>[],
  to: string[],
  now: number,
): void {
  const limited = group.find(({ reason }) => reason !== 'stopping');
  const { give_up_hours: hours } = world.config.delivery;
  const giveUpAt = row.accepted_at + hours * HOUR_MS;
  const attempt = row.attempt - 1;
  if (limited && now >= giveUpAt) {
    const { detail } = limited;
    const message = `Delivery was given up after the retry period of ${hours} hours, because mail to this destination had to wait: ${detail}`;
    return giveUp(row, done, group, { message, detail, attempts: attempt });
  }
  const dueAt = now + Math.max(...group.map((outcome) => outcome.retryAfterMs ?? 0));
  done.retry = {
    recipients: to,
    dueAt: limited ? Math.min(dueAt, giveUpAt) : dueAt,
    attempt,
    awaitsDomain: false,
    isFailing: false,
    isThrottled: limited !== undefined,
  };
}

/** Reports whether a delivery was put off before anything was attempted. */
export const isUntried = (outcome: Outcome): boolean =>
  outcome.kind === 'deferred' && UNTRIED_REASONS.has(outcome.reason);

const UNTRIED_REASONS: ReadonlySet<string> = new Set(['stopping', 'throttled', 'suspended', 'source_unavailable']);

type OurFault = 'domain_unverified' | 'content_damaged' | 'relay_misconfigured';

const OUR_FAULTS: ReadonlySet<string> = new Set<OurFault>([
  'domain_unverified',
  'content_damaged',
  'relay_misconfigured',
]);

/** Reports whether mail waits for something on our side, so that giving up is no bounce. */
const isOurFault = (outcome: Of<'deferred'>): outcome is Of<'deferred'> & { reason: OurFault } =>
  OUR_FAULTS.has(outcome.reason);

/**
 * Reasons that concern the route to the destination and not the message. A reply of 421 (service not available) is one
 * of them.
 */
const DESTINATION_REASONS = new Set<string>([
  'destination_down',
  'unreachable',
  'dns_failure',
  'resolver_failure',
  'timeout',
  'connection_lost',
  'protocol_error',
  'relay_misconfigured',
]);

function isDestinationFailure({ reason, reply, cause }: Of<'deferred'>): boolean {
  if (cause !== undefined && TEMPORARY_PER_MESSAGE_CAUSES.has(cause)) return false;
  return DESTINATION_REASONS.has(reason) || reply?.code === 421;
}

/** Refusals that concern one message or one recipient, and say nothing about the destination. */
const TEMPORARY_PER_MESSAGE_CAUSES: ReadonlySet<ReplyCause> = new Set([
  'greylist',
  'recipient_rate',
  'content',
  'mailbox_full',
]);

function buildDelay(group: Of<'deferred'>[], expiresAt: number): EventData['email.delivery_delayed'] {
  const diagnosticCodes = describeEach(group);
  return {
    to: group.map((outcome) => outcome.address),
    delay: {
      type: DELAY_TYPES[group[0]?.reason ?? ''] ?? 'Undetermined',
      expirationTime: isoTime(expiresAt),
      delayedRecipients: group.map((outcome, index) => ({
        emailAddress: outcome.address,
        diagnosticCode: diagnosticCodes[index] ?? '',
      })),
    },
  };
}

const DELAY_TYPES: Record<string, string> = {
  dns_failure: 'RecipientServerError',
  resolver_failure: 'TransientCommunicationFailure',
  unreachable: 'RecipientServerError',
  destination_down: 'RecipientServerError',
  connection_lost: 'TransientCommunicationFailure',
  timeout: 'TransientCommunicationFailure',
  protocol_error: 'TransientCommunicationFailure',
  relay_misconfigured: 'TransientCommunicationFailure',
};

function concludeBounced(world: World, row: DeliveryRow, done: Conclusion, group: Of<'bounced'>[], to: string[]): void {
  const first = group[0];
  if (!first) return;
  const bounce = bounceFor(first);
  const diagnosticCode = describeEach(group);
  done.events.push({
    type: 'email.bounced',
    data: { to, bounce: { ...bounce, message: first.detail, diagnosticCode } },
  });
  done.logLines.push((log) =>
    log.bounced({ ...buildLogFields(row), to, reason: first.reason, detail: [...new Set(diagnosticCode)].join(' | ') }),
  );
  // Addresses of the simulator are not suppressed, or each could be used only once.
  if (bounce.type !== 'Permanent' || isSimulatorDomain(world.config, row.destination)) return;
  done.suppress.push(
    ...group.filter(shouldSuppress).map(({ address: email }) => ({ email, origin: 'bounce' as const })),
  );
}

/**
 * Reports whether a permanent bounce suppresses the address. It does not if several recipients got the same reply, because
 * that reply is about the message or its sender.
 */
function shouldSuppress(outcome: Of<'bounced'>, _index: number, group: Of<'bounced'>[]): boolean {
  if (outcome.reason !== 'refused') return true;
  return !group.some((other) => other !== outcome && other.reply === outcome.reply);
}

/** Classifies a bounce: by the reply of the mail server, or by our own reason if we refused it ourselves. */
function bounceFor(outcome: Of<'bounced'>): Bounce {
  switch (outcome.reason) {
    case 'no_such_domain':
      return { type: 'Permanent', subType: 'NoEmail' };
    case 'takes_no_mail':
      // From DNS it is a fact about the domain; from a greeting it is about one host, before a recipient was named.
      return outcome.cause === undefined || outcome.reply === undefined
        ? { type: 'Permanent', subType: 'NoEmail' }
        : bounceOfReply(outcome.reply, outcome.cause);
    case 'too_large':
      return { type: 'Transient', subType: 'MessageTooLarge' };
    case 'blocked_address':
    case 'routing_loop':
    case 'no_route':
    case 'smtputf8_unsupported':
    case 'eight_bit_unsupported':
    case 'requiretls_unsupported':
    case 'malformed_address':
      return { type: 'Undetermined', subType: 'Undetermined' };
    case 'refused':
      if (outcome.reply === undefined) return { type: 'Undetermined', subType: 'Undetermined' };
      return bounceOfReply(outcome.reply, causeFor(outcome));
  }
}

/** Returns the cause of a refusal: as determined when the reply came, or from the reply alone. */
export function causeFor(outcome: Of<'bounced'> | Of<'deferred'>): ReplyCause | undefined {
  if (outcome.cause !== undefined || outcome.reply === undefined) return outcome.cause;
  const isOwnReply = outcome.kind === 'bounced' && outcome.reason !== 'refused';
  return isOwnReply ? undefined : classifyReply({ reply: outcome.reply, mx: outcome.mx }).cause;
}

const SUPPRESSED_REASONS = {
  bounce: 'previous_bounce',
  complaint: 'previous_complaint',
  manual: 'manual',
  opt_out: 'manual',
} as const;

function concludeSuppressed(row: DeliveryRow, done: Conclusion, group: Of<'suppressed'>[], to: string[]): void {
  const origin = group[0]?.origin;
  const reason = SUPPRESSED_REASONS[origin ?? 'bounce'];
  const message = explainSuppression(origin);
  done.events.push({
    type: 'email.suppressed',
    data: { to, suppressed: { reason, type: 'Suppressed', message, diagnosticCode: [] } },
  });
  done.logLines.push((log) => log.suppressed({ ...buildLogFields(row), to }));
}

function explainSuppression(origin: Of<'suppressed'>['origin']): string {
  if (origin === undefined) return 'The mailbox simulator replies as if the address were on the suppression list.';
  if (origin === 'opt_out')
    return 'The contact unsubscribed, left the topic or was deleted after this email was accepted, so nothing was sent to it.';
  return 'The address is on the suppression list of this team, so nothing was sent to it.';
}

/** Limit of the quotations in one event, for all of its recipients together. */
const QUOTED_CHARS_MAX = 16_000;

/** Returns the length of the quotation for each of this many recipients of an event. */
export const quotedCharsMax = (recipients: number): number =>
  Math.min(PEER_TEXT_CHARS_MAX, Math.floor(QUOTED_CHARS_MAX / recipients));

/** Quotes the reply or detail of each recipient, shortened if there are many. */
function describeEach(group: (Of<'deferred'> | Of<'bounced'>)[]): string[] {
  const charsMax = quotedCharsMax(group.length);
  return group.map((outcome) => cutText(formatDiagnostic(outcome), charsMax));
}

const formatDiagnostic = (outcome: Of<'deferred'> | Of<'bounced'>): string =>
  outcome.reply ? `smtp; ${replyText(outcome.reply)}` : outcome.detail;
