import { listEvents, type EventType, type RecordedEvent } from '../events/index.ts';
import { emailLogFields } from '../../platform/log/index.ts';
import type { Executor } from '../../platform/db/index.ts';
import type { World } from '../../platform/world.ts';
import { normalizeAddress, returnPathPrefix } from '../../protocol/address/index.ts';
import { readReportedReply, type MailReport, type ReportedRecipient } from '../../protocol/mail-report.ts';
import {
  emailRowsByIds,
  latestAttempts,
  type AttemptRow,
  type EmailRow,
  type TriedRecipient,
} from '../emails/index.ts';
import { claimReports, type ReputationCount } from '../reputation/index.ts';
import { suppressionsAmong } from '../suppressions/index.ts';
import type { Stream } from '../stream-rates/index.ts';
import type { NoticeOrder } from '../accept/index.ts';
import { endDoubt } from '../queue/index.ts';
import { measureReputation, settleOutcomes } from './settle-outcomes.ts';
import { isoTime } from '../../platform/clock.ts';
import { classifyReply } from '../../platform/reply-rules/index.ts';
import { bounceOfReply } from '../../protocol/smtp-reply/index.ts';
import { cutText } from '../deliver/index.ts';
import { emptyConclusion, quotedCharsMax, type Conclusion } from './conclude.ts';
import { readAsked, wants } from '../../protocol/dsn.ts';

const HOUR_MS = 3_600_000;

const NOTICES = {
  delivered: { what: 'SUCCESS', status: '2.0.0' },
  relayed: { what: 'SUCCESS', status: '2.0.0' },
  expanded: { what: 'SUCCESS', status: '2.0.0' },
  delayed: { what: 'DELAY', status: '4.0.0' },
  failed: { what: 'FAILURE', status: '5.0.0' },
} as const;

/**
 * Returns the notices that the original sender requested; the delivery notices of the next server are sent to our
 * return path.
 */
function noticesOfReport(email: EmailRow, reported: ReportedRecipient, to: readonly string[]): NoticeOrder[] {
  const asked = readAsked(email.asked);
  const { action, diagnostic } = reported;
  const { what, status } = NOTICES[action];
  const recipients = to.flatMap((address) => {
    if (!asked || !wants(asked, address, what)) return [];
    return [{ address, status: reported.status ?? status, ...(diagnostic === '' ? {} : { diagnostic }) }];
  });
  if (!asked || recipients.length === 0) return [];
  return [{ emailId: email.id, teamId: email.team_id, asked, action, recipients }];
}

/** A report that was sent to a return path of ours. */
export interface ReturnedReport {
  emailId: string;
  /** The beginning of the return path, which identifies the destination of the email. */
  prefix: string;
  report: Exclude<MailReport, { kind: 'none' }>;
}

type Reported = Exclude<ReturnedReport['report'], { kind: 'complaint' }>;

/**
 * Settles a report that arrives after the connection has ended, possibly days later: events, states, suppressions and
 * doubts in one transaction. It counts only for recipients at the destination of its return path, and an event that is
 * recorded already is not recorded again. Returns whether it queued delivery notices to the sender.
 */
export async function settleReport(world: World, { emailId, prefix, report }: ReturnedReport): Promise<boolean> {
  const settled = await world.db.tx(async (tx) => {
    const [email] = await emailRowsByIds(tx, [emailId]);
    if (!email) return undefined;
    const recipients = recipientsAt(email, prefix);
    const known = await listEvents(tx, emailId);
    const outcomes =
      report.kind === 'complaint'
        ? complained(recipients, report.addresses, known)
        : toOutcomes(recipients, report, known);
    const conclusion = concludeReport(world, email, outcomes);
    const notices = report.kind === 'complaint' ? [] : noticesToSender(email, recipients, known, report);
    const news = await listNews(world, tx, email, outcomes);
    const { reputation, returned } = countReported(email, outcomes, news, await latestAttempts(tx, [emailId]));
    const isRepeated = (kind: string, address: string): boolean => news.get(kind)?.has(address) === false;
    await settleOutcomes(world, tx, [
      { email, stream: findStream(email), conclusion, reputation, notices, isRepeated, returned },
    ]);
    await endDoubt(tx, emailId, new Set(outcomes.flatMap(({ to }) => to)));
    return {
      email,
      conclusion,
      notices,
      reputation,
      expanded: report.kind === 'complaint' ? [] : expandedAt(recipients, report),
    };
  });
  if (!settled) return false;
  const { email, conclusion, notices, reputation, expanded } = settled;
  measureReputation(world, reputation);
  if (expanded.length > 0) world.mailLog.expanded({ ...emailLogFields(emailId, email.request_id), to: expanded });
  for (const write of conclusion.logLines) write(world.mailLog);
  return notices.length > 0;
}

/**
 * Returns the recipients whose complaint or returned mail counts for the rates, by kind. Each counts once for a domain within a
 * window, and none whose address is suppressed already: a person with many emails has as many return paths to send reports to.
 */
async function listNews(
  { clock, config }: World,
  tx: Executor,
  { team_id: teamId, domain_id: domainId }: EmailRow,
  outcomes: readonly ReportedOutcome[],
): Promise<Map<string, ReadonlySet<string>>> {
  const now = clock.now();
  const since = now - config.breakers.window_hours * HOUR_MS;
  const news = new Map<string, ReadonlySet<string>>();
  for (const kind of ['bounced', 'complained'] as const) {
    const reported = outcomes.filter((outcome) => outcome.kind === kind).flatMap(({ to }) => to);
    if (reported.length === 0) continue;
    const pairs = reported.map((address) => [teamId, normalizeAddress(address)] as const);
    const suppressed = new Set((await suppressionsAmong(tx, pairs)).map(({ email_key: key }) => key));
    const addresses = reported.filter((address) => !suppressed.has(normalizeAddress(address)));
    news.set(kind, new Set(await claimReports(tx, { domainId, teamId, outcome: kind, addresses }, { since, now })));
  }
  return news;
}

/**
 * Counts bounces and complaints for the source and the provider that the last attempt of the email went through. Mail that was
 * accepted and returned later no longer counts as accepted.
 */
function countReported(
  email: EmailRow,
  outcomes: readonly ReportedOutcome[],
  news: ReadonlyMap<string, ReadonlySet<string>>,
  attempts: readonly AttemptRow[],
): { reputation: ReputationCount[]; returned: number[] } {
  const reputation: ReputationCount[] = [];
  const returned: number[] = [];
  for (const { kind, to } of outcomes) {
    if (kind !== 'complained' && kind !== 'bounced') continue;
    for (const address of to) {
      if (news.get(kind)?.has(address) !== true) continue;
      const domain = normalizeAddress(address).split('@').at(-1);
      const attempt = attempts.find(({ destination }) => destination === domain);
      if (attempt === undefined) continue;
      const acceptedAt = attempt.created_at + attempt.duration_ms;
      const wasAccepted = kind === 'bounced' && isAccepted(attempt, address);
      if (wasAccepted) returned.push(acceptedAt);
      if (attempt.source === null) continue;
      const count = {
        source: attempt.source,
        provider: attempt.provider ?? '',
        domainId: email.domain_id,
        teamId: email.team_id,
        isMarketing: email.is_marketing === 1,
        cause: '' as const,
        acceptedAt,
      };
      reputation.push({ ...count, outcome: kind, count: 1 });
      if (wasAccepted) reputation.push({ ...count, outcome: 'accepted', count: -1 });
    }
  }
  return { reputation, returned };
}

/** Reports whether the mail server of a recipient accepted the email, which is unknown if its reply was lost. */
const isAccepted = ({ recipients }: AttemptRow, address: string): boolean =>
  (JSON.parse(recipients) as TriedRecipient[]).some(
    ({ email, outcome }) => outcome === 'delivered' && normalizeAddress(email) === normalizeAddress(address),
  );

function findStream({ broadcast_id: broadcastId, run_depth: runDepth }: EmailRow): Stream {
  if (broadcastId !== null) return 'broadcast';
  return runDepth === null ? 'transactional' : 'automation';
}

/** Returns the recipients whose servers forwarded the message to the members of a list. */
function expandedAt(recipients: readonly string[], { recipients: all }: Reported): string[] {
  const lists = all.filter(({ action }) => action === 'expanded');
  return lists.flatMap(({ addresses }) => recipientsMeant(recipients, addresses));
}

/** Returns the delivery notices to the sender that requested them, each sent once. */
function noticesToSender(
  email: EmailRow,
  recipients: readonly string[],
  known: readonly RecordedEvent[],
  report: Reported,
): NoticeOrder[] {
  return report.recipients.flatMap((reported) => {
    const type = TYPES[KINDS[reported.action]];
    // `email.delivered` was recorded at the 250 of the next server, so a report of the final delivery is still news.
    const isNews = (address: string): boolean => type === 'email.delivered' || !wasRecorded(known, type, address);
    return noticesOfReport(email, reported, recipientsMeant(recipients, reported.addresses).filter(isNews));
  });
}

/**
 * Returns the recipients at the destination of a prefix. Old prefixes are one letter, without a destination, and stand
 * for all.
 */
function recipientsAt(email: EmailRow, prefix: string): string[] {
  const lists = [email.to_list, email.cc_list, email.bcc_list];
  const all = lists.flatMap((json) => (json === null ? [] : (JSON.parse(json) as string[]))).map(bareAddress);
  const purpose = prefix.split('-', 1)[0] ?? '';
  const isThere = (address: string): boolean => {
    const [, domain = ''] = /@([^@]*)$/.exec(normalizeAddress(address)) ?? [];
    return prefix === purpose || returnPathPrefix(purpose, domain) === prefix;
  };
  return [...new Set(all)].filter(isThere);
}

const bareAddress = (mailbox: string): string => /<([^<>]*)>\s*$/.exec(mailbox)?.[1] ?? mailbox;

/**
 * Returns the recipients that a report is about. Forwarded mail bounces under another address: a lone recipient is
 * meant then.
 */
function recipientsMeant(recipients: readonly string[], addresses: readonly string[]): string[] {
  const named = new Set(addresses.map(normalizeAddress));
  const found = recipients.filter((address) => named.has(normalizeAddress(address)));
  if (found.length > 0) return found;
  return recipients.length === 1 ? [...recipients] : [];
}

const wasRecorded = (known: readonly RecordedEvent[], type: EventType, address: string): boolean =>
  known.some(
    (event) =>
      event.type === type && 'to' in (event.data ?? {}) && (event.data as { to: string[] }).to.includes(address),
  );

function complained(
  recipients: readonly string[],
  addresses: readonly string[],
  known: readonly RecordedEvent[],
): ReportedOutcome[] {
  const to = recipientsMeant(recipients, addresses).filter(
    (address) => !wasRecorded(known, 'email.complained', address),
  );
  if (to.length === 0) return [];
  // Providers leave out or change the address of the person who complained.
  return [{ kind: 'complained', to, status: undefined, diagnostic: '', maySuppress: recipients.length === 1 }];
}

/**
 * Turns a report into outcomes. If several entries are about one recipient, such as the members of an alias, those that
 * name our address come first.
 */
function toOutcomes(
  recipients: readonly string[],
  report: Reported,
  known: readonly RecordedEvent[],
): ReportedOutcome[] {
  const recorded = new Set<string>();
  const isOwn = (reported: ReportedRecipient): boolean => isAboutOurAddress(recipients, reported);
  const inOrder = [...report.recipients.filter(isOwn), ...report.recipients.filter((reported) => !isOwn(reported))];
  return inOrder.flatMap((reported) => {
    const kind = KINDS[reported.action];
    const to = recipientsMeant(recipients, reported.addresses).filter((address) => isNew(address, kind));
    if (to.length === 0) return [];
    for (const address of to) recorded.add(`${kind} ${address}`);
    const { status, diagnostic } = reported;
    return [{ kind, to, status, diagnostic, maySuppress: recipients.length === 1 && isOwn(reported) }];
  });

  /**
   * Reports whether an outcome is new. A delay that is reported late is no news about a recipient whose mail has ended
   * since.
   */
  function isNew(address: string, kind: ReportedKind): boolean {
    if (recorded.has(`${kind} ${address}`) || wasRecorded(known, TYPES[kind], address)) return false;
    return kind === 'bounced' || !wasRecorded(known, 'email.bounced', address);
  }
}

/**
 * Reports whether a report is about the address that we sent to. A failure at another address, reached through an
 * alias, must not suppress ours: each member of the alias has seen our return path, and could have the alias suppressed
 * for all members.
 */
function isAboutOurAddress(recipients: readonly string[], { addresses }: ReportedRecipient): boolean {
  const final = addresses.at(-1);
  return final === undefined || recipients.some((address) => normalizeAddress(address) === normalizeAddress(final));
}

/**
 * The meaning of a reported action. `relayed` repeats the 250 of the next server, and ends the doubt if the 250 was
 * lost.
 */
const KINDS = {
  delivered: 'delivered',
  relayed: 'delivered',
  expanded: 'delivered',
  delayed: 'delayed',
  failed: 'bounced',
} as const;
type ReportedKind = (typeof KINDS)[keyof typeof KINDS];

const TYPES = {
  delivered: 'email.delivered',
  delayed: 'email.delivery_delayed',
  bounced: 'email.bounced',
} as const;

/** A reported outcome of recipients, hours or days after the connection to their mail server was over. */
interface ReportedOutcome {
  kind: 'delivered' | 'delayed' | 'bounced' | 'complained';
  to: string[];
  status: string | undefined;
  diagnostic: string;
  /**
   * True if it may suppress the address: only if the return path was made for one recipient. Several recipients have
   * all seen it, and each could forge a report that has another one suppressed.
   */
  maySuppress: boolean;
}

/** Turns the contents of a report into events, suppressions and lines of the mail log. */
function concludeReport(world: World, email: EmailRow, outcomes: readonly ReportedOutcome[]): Conclusion {
  const done = emptyConclusion();
  for (const { kind, to, status, diagnostic: said, maySuppress } of outcomes) {
    const diagnostic = cutText([status, said].filter((part) => part).join(' '), quotedCharsMax(to.length));
    switch (kind) {
      case 'delivered':
        done.events.push({ type: 'email.delivered', data: { to } });
        break;
      case 'delayed': {
        const expires = email.created_at + world.config.delivery.give_up_hours * HOUR_MS;
        const delayedRecipients = to.map((emailAddress) => ({ emailAddress, diagnosticCode: diagnostic }));
        const delay = { type: 'Undetermined', expirationTime: isoTime(expires), delayedRecipients };
        done.events.push({ type: 'email.delivery_delayed', data: { to, delay } });
        break;
      }
      case 'bounced': {
        const message =
          'The recipient’s mail server accepted the message but could not deliver it, and reported this by mail.';
        const reply = readReportedReply({ status, diagnostic: said });
        const { type, subType } = bounceOfReply(reply, classifyReply({ reply }).cause);
        const bounce = { type, subType, message, diagnosticCode: [diagnostic] };
        done.events.push({ type: 'email.bounced', data: { to, bounce } });
        done.logLines.push((log) =>
          log.bounced({ ...emailLogFields(email.id, email.request_id), to, reason: 'returned', detail: diagnostic }),
        );
        if (maySuppress && bounce.type === 'Permanent') suppress(done, to, 'bounce');
        break;
      }
      case 'complained':
        done.events.push({ type: 'email.complained', data: { to } });
        if (maySuppress) suppress(done, to, 'complaint');
        break;
      default:
        kind satisfies never;
    }
  }
  return done;
}

function suppress(done: Conclusion, to: readonly string[], origin: 'bounce' | 'complaint'): void {
  done.suppress.push(...to.map((email) => ({ email, origin })));
}
