import { eventsOf, recordEvents, type Happening, type RecordedEvent } from '../../../events/index.ts';
import { isoTime } from '../../../platform/clock/index.ts';
import type { Executor } from '../../../platform/db/index.ts';
import type { World } from '../../../platform/world/index.ts';
import { normalizeAddress, returnPathPrefix } from '../../../protocol/address/index.ts';
import { bounceOfReport, type MailReport, type ReportedRecipient } from '../../../protocol/mail-report/index.ts';
import { advanceLastEvent, emailRowsByIds, type EmailRow } from '../../../resources/emails/index.ts';
import { suppress } from '../../../resources/suppressions/index.ts';
import { writeNotices, type NoticeOrder } from '../accept/index.ts';
import { endDoubt } from '../queue/index.ts';
import { noticesOfReport } from './notices-of-report.ts';

/** A report that came to a return path of ours. */
export interface ReturnedReport {
  emailId: string;
  /** The beginning of the return path, which identifies the destination of the email. */
  prefix: string;
  report: Exclude<MailReport, { kind: 'none' }>;
}

type Reported = Exclude<ReturnedReport['report'], { kind: 'complaint' }>;
type ReportedEvent = Happening<'email.bounced' | 'email.complained' | 'email.delivery_delayed' | 'email.delivered'>;
type Settled = ReportedEvent & { maySuppress: boolean };

/**
 * Settles a report that comes after the connection has ended, possibly days later: events, states, suppressions and doubts in
 * one transaction. It counts only for recipients at the destination of its return path, and an event that is recorded already
 * is not recorded again. Answers whether it queued delivery notices to the sender.
 */
export async function settleReport(world: World, { emailId, prefix, report }: ReturnedReport): Promise<boolean> {
  const logLines: (() => void)[] = [];
  let notices: NoticeOrder[] = [];
  await world.db.tx(async (tx) => {
    const [email] = await emailRowsByIds(tx, [emailId]);
    if (!email) return;
    const recipients = recipientsAt(email, prefix);
    const known = await eventsOf(tx, emailId);
    const happenings =
      report.kind === 'complaint'
        ? complained(recipients, report.addresses, known)
        : allConcluded(world, email, { recipients, report, known });
    for (const happening of happenings) await write(world, tx, email, happening);
    if (report.kind !== 'complaint') {
      const lists = report.recipients.filter(({ action }) => action === 'expanded');
      const to = lists.flatMap(({ addresses }) => recipientsMeant(recipients, addresses));
      if (to.length > 0) logLines.push(() => world.mailLog.expanded({ emailId, to }));
    }
    notices = report.kind === 'complaint' ? [] : noticesToSender(email, recipients, known, report);
    await writeNotices(world, tx, notices);
    for (const { type, data } of happenings) {
      if (type !== 'email.bounced') continue;
      const detail = data.bounce.diagnosticCode.join(' | ');
      logLines.push(() => world.mailLog.bounced({ emailId, to: [...data.to], reason: 'returned', detail }));
    }
  });
  for (const line of logLines) line();
  return notices.length > 0;
}

/** Delivery notices to the sender that asked for them, each sent once. */
function noticesToSender(
  email: EmailRow,
  recipients: readonly string[],
  known: readonly RecordedEvent[],
  report: Reported,
): NoticeOrder[] {
  return report.recipients.flatMap((reported) => {
    const type = TYPES[reported.action];
    // `email.delivered` was recorded at the 250 of the next server; a report of delivery further on is news all the same.
    const isNews = (address: string): boolean =>
      type === undefined || type === 'email.delivered' || !wasRecorded(known, type, address);
    return noticesOfReport(email, reported, recipientsMeant(recipients, reported.addresses).filter(isNews));
  });
}

/** The recipients at the destination of a prefix. Old prefixes are one letter, without a destination, and stand for all. */
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

/** The recipients that a report is about. Forwarded mail bounces under another address: a lone recipient is meant then. */
function recipientsMeant(recipients: readonly string[], addresses: readonly string[]): string[] {
  const named = new Set(addresses.map(normalizeAddress));
  const found = recipients.filter((address) => named.has(normalizeAddress(address)));
  if (found.length > 0) return found;
  return recipients.length === 1 ? [...recipients] : [];
}

const wasRecorded = (known: readonly RecordedEvent[], type: ReportedEvent['type'], address: string): boolean =>
  known.some(
    (event) =>
      event.type === type && 'to' in (event.data ?? {}) && (event.data as { to: string[] }).to.includes(address),
  );

function complained(
  recipients: readonly string[],
  addresses: readonly string[],
  known: readonly RecordedEvent[],
): Settled[] {
  const to = recipientsMeant(recipients, addresses).filter(
    (address) => !wasRecorded(known, 'email.complained', address),
  );
  // Providers leave out or change the address of the person who complained.
  return to.length === 0 ? [] : [{ type: 'email.complained', data: { to }, maySuppress: recipients.length === 1 }];
}

/** Where entries of a report are about one recipient, such as the members of an alias, those that name our address come first. */
function allConcluded(
  world: World,
  email: EmailRow,
  about: { recipients: readonly string[]; report: Reported; known: readonly RecordedEvent[] },
): Settled[] {
  const { recipients, report, known } = about;
  const recorded = new Set<string>();
  const isOwn = (reported: ReportedRecipient): boolean => isAboutOurAddress(recipients, reported);
  const inOrder = [...report.recipients.filter(isOwn), ...report.recipients.filter((reported) => !isOwn(reported))];
  return inOrder.flatMap((reported) => {
    const maySuppress = recipients.length === 1 && isOwn(reported);
    return concluded(world, email, { recipients, reported, known, recorded }).map((one) => ({ ...one, maySuppress }));
  });
}

/**
 * Whether a report is about the address that we sent to. A failure at another address, behind an alias, must not suppress
 * ours: each member of the alias has seen our return path, and could have the alias suppressed for all members.
 */
function isAboutOurAddress(recipients: readonly string[], { addresses }: ReportedRecipient): boolean {
  const final = addresses.at(-1);
  return final === undefined || recipients.some((address) => normalizeAddress(address) === normalizeAddress(final));
}

function concluded(
  world: World,
  email: EmailRow,
  about: {
    recipients: readonly string[];
    reported: ReportedRecipient;
    known: readonly RecordedEvent[];
    recorded: Set<string>;
  },
): ReportedEvent[] {
  const { recipients, reported, known, recorded } = about;
  const type = TYPES[reported.action];
  const to = recipientsMeant(recipients, reported.addresses).filter(
    // A delay that is reported late is no news about a recipient whose mail has ended since.
    (address) =>
      !recorded.has(`${type} ${address}`) &&
      !wasRecorded(known, type, address) &&
      !(type !== 'email.bounced' && wasRecorded(known, 'email.bounced', address)),
  );
  if (to.length === 0) return [];
  for (const address of to) recorded.add(`${type} ${address}`);
  const diagnostic = [reported.status, reported.diagnostic].filter((part) => part).join(' ');
  switch (type) {
    case 'email.delivered':
      return [{ type: 'email.delivered', data: { to } }];
    case 'email.delivery_delayed': {
      const expires = email.created_at + world.config.delivery.give_up_hours * 3_600_000;
      const delayedRecipients = to.map((emailAddress) => ({ emailAddress, diagnosticCode: diagnostic }));
      const delay = { type: 'Undetermined', expirationTime: isoTime(expires), delayedRecipients };
      return [{ type: 'email.delivery_delayed', data: { to, delay } }];
    }
    case 'email.bounced': {
      const message = 'The recipient’s mail server took the message and could not deliver it; it said so by mail.';
      const bounce = { ...bounceOfReport(reported), message, diagnosticCode: [diagnostic] };
      return [{ type: 'email.bounced', data: { to, bounce } }];
    }
  }
}

/** The events of reported actions. `relayed` repeats the 250 of the next server, and ends the doubt where the 250 was lost. */
const TYPES = {
  delivered: 'email.delivered',
  relayed: 'email.delivered',
  expanded: 'email.delivered',
  delayed: 'email.delivery_delayed',
  failed: 'email.bounced',
} as const;

/**
 * Suppresses only where the return path was made for one recipient. Of several, each has seen it, and could forge a report
 * that has another one suppressed.
 */
async function write(
  world: World,
  tx: Executor,
  email: EmailRow,
  { maySuppress, ...happening }: Settled,
): Promise<void> {
  const { id: emailId, team_id: teamId, domain_id: domainId } = email;
  const at = world.clock.now();
  const state = STATES[happening.type];
  const isFirst = (await advanceLastEvent(tx, [emailId], state)).length > 0;
  await recordEvents(tx, world.ids, [{ teamId, domainId, subjectId: emailId, at, isFirst, ...happening }]);
  await endDoubt(tx, emailId, new Set(happening.data.to));
  const origin = originOf(happening);
  if (!origin || !maySuppress) return;
  const additions = happening.data.to.map((address) => ({ email: address, origin, sourceId: emailId }));
  await suppress(world, tx, teamId, additions);
}

const STATES = {
  'email.bounced': 'bounced',
  'email.complained': 'complained',
  'email.delivery_delayed': 'delivery_delayed',
  'email.delivered': 'delivered',
} as const;

/** Only permanent bounces and complaints suppress an address. */
function originOf(happening: ReportedEvent): 'bounce' | 'complaint' | undefined {
  if (happening.type === 'email.complained') return 'complaint';
  return happening.type === 'email.bounced' && happening.data.bounce.type === 'Permanent' ? 'bounce' : undefined;
}
