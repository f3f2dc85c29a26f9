import { eventsOf, recordEvents, type Happening, type RecordedEvent } from '../../../events/index.ts';
import { isoTime } from '../../../platform/clock/index.ts';
import type { Executor } from '../../../platform/db/index.ts';
import type { World } from '../../../platform/world/index.ts';
import { normalizeAddress, returnPathPrefix } from '../../../protocol/address/index.ts';
import type { MailReport, ReportedRecipient } from '../../../protocol/mail-report/index.ts';
import { bounceOf, type Bounce } from '../../../protocol/smtp-reply/index.ts';
import { advanceLastEvent, emailRowsByIds, type EmailRow } from '../../../resources/emails/index.ts';
import { suppress } from '../../../resources/suppressions/index.ts';
import { writeNotices, type NoticeOrder } from '../accept/index.ts';
import { endDoubt } from '../queue/index.ts';
import { noticesOfReport } from './notices-of-report.ts';

/** A report that came to a return path of ours. */
export interface ReturnedReport {
  emailId: string;
  /** How the return path begins, which says for which of the email's destinations it was made. */
  prefix: string;
  report: Exclude<MailReport, { kind: 'none' }>;
}

type Reported = Exclude<ReturnedReport['report'], { kind: 'complaint' }>;
type Told = Happening<'email.bounced' | 'email.complained' | 'email.delivery_delayed' | 'email.delivered'>;
type Settled = Told & { maySuppress: boolean };

/**
 * Settles what a report says, days after the connection has ended: events, states, suppressions and doubts in one
 * transaction. It speaks of recipients at its own destination alone, and what was told before is not told again. Answers
 * whether there is mail to deliver now: notices to a sender who had asked for them.
 */
export async function settleReport(world: World, { emailId, prefix, report }: ReturnedReport): Promise<boolean> {
  const tell: (() => void)[] = [];
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
      const to = lists.flatMap(({ addresses }) => meant(recipients, addresses));
      if (to.length > 0) tell.push(() => world.mailLog.expanded({ emailId, to }));
    }
    notices = report.kind === 'complaint' ? [] : passedBack(email, recipients, known, report);
    await writeNotices(world, tx, notices);
    for (const { type, data } of happenings) {
      if (type !== 'email.bounced') continue;
      const detail = data.bounce.diagnosticCode.join(' | ');
      tell.push(() => world.mailLog.bounced({ emailId, to: [...data.to], reason: 'returned', detail }));
    }
  });
  for (const line of tell) line();
  return notices.length > 0;
}

/** To whoever asked for it, what a server says that was asked in their stead; said once. */
function passedBack(
  email: EmailRow,
  recipients: readonly string[],
  known: readonly RecordedEvent[],
  report: Reported,
): NoticeOrder[] {
  return report.recipients.flatMap((reported) => {
    const type = TYPES[reported.action];
    // That a server has taken the message was told at its 250, and is not what it says here.
    const isNews = (address: string): boolean =>
      type === undefined || type === 'email.delivered' || !wasTold(known, type, address);
    return noticesOfReport(email, reported, meant(recipients, reported.addresses).filter(isNews));
  });
}

/** Before destinations had return paths of their own, the prefix was a letter, and stood for all of them. */
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

/** Whom a report means. One that was forwarded bounces under another address; where there is but one, it is that one. */
function meant(recipients: readonly string[], addresses: readonly string[]): string[] {
  const named = new Set(addresses.map(normalizeAddress));
  const found = recipients.filter((address) => named.has(normalizeAddress(address)));
  if (found.length > 0) return found;
  return recipients.length === 1 ? [...recipients] : [];
}

const wasTold = (known: readonly RecordedEvent[], type: Told['type'], address: string): boolean =>
  known.some(
    (event) =>
      event.type === type && 'to' in (event.data ?? {}) && (event.data as { to: string[] }).to.includes(address),
  );

function complained(
  recipients: readonly string[],
  addresses: readonly string[],
  known: readonly RecordedEvent[],
): Settled[] {
  const to = meant(recipients, addresses).filter((address) => !wasTold(known, 'email.complained', address));
  // Providers leave out or change whose complaint it is.
  return to.length === 0 ? [] : [{ type: 'email.complained', data: { to }, maySuppress: recipients.length === 1 }];
}

/** Of several that a report says the same of, as of the members of an alias, those which name the address itself count. */
function allConcluded(
  world: World,
  email: EmailRow,
  about: { recipients: readonly string[]; report: Reported; known: readonly RecordedEvent[] },
): Settled[] {
  const { recipients, report, known } = about;
  const told = new Set<string>();
  const isOwn = (reported: ReportedRecipient): boolean => isFinal(recipients, reported);
  const inOrder = [...report.recipients.filter(isOwn), ...report.recipients.filter((reported) => !isOwn(reported))];
  return inOrder.flatMap((reported) => {
    const maySuppress = recipients.length === 1 && isOwn(reported);
    return concluded(world, email, { recipients, reported, known, told }).map((one) => ({ ...one, maySuppress }));
  });
}

/**
 * Whether a report speaks of the address that we sent to. One that ended at another says nothing for ever about it: behind
 * an alias each member has our return path, and could have it suppressed for all of them.
 */
function isFinal(recipients: readonly string[], { addresses }: ReportedRecipient): boolean {
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
    told: Set<string>;
  },
): Told[] {
  const { recipients, reported, known, told } = about;
  const type = TYPES[reported.action];
  const to = meant(recipients, reported.addresses).filter(
    // A late word that it takes longer says nothing about what has ended meanwhile.
    (address) =>
      !told.has(`${type} ${address}`) &&
      !wasTold(known, type, address) &&
      !(type !== 'email.bounced' && wasTold(known, 'email.bounced', address)),
  );
  if (to.length === 0) return [];
  for (const address of to) told.add(`${type} ${address}`);
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
      const bounce = { ...bounceFor(reported), message, diagnosticCode: [diagnostic] };
      return [{ type: 'email.bounced', data: { to, bounce } }];
    }
  }
}

/** That a message was passed on says what the 250 before it said; where that was lost, it ends the doubt. */
const TYPES = {
  delivered: 'email.delivered',
  relayed: 'email.delivered',
  expanded: 'email.delivered',
  delayed: 'email.delivery_delayed',
  failed: 'email.bounced',
} as const;

/** As if the reply had come over the connection. Without a code of the reply, the status has to do. */
function bounceFor({ status, diagnostic }: ReportedRecipient): Bounce {
  const said = /\b([45]\d\d)[ -](?:#?([45]\.\d{1,3}\.\d{1,3})\b)?/.exec(diagnostic);
  const enhanced = status !== undefined && !/^[45]\.0\.0$/.test(status) ? status : said?.[2];
  const code = Number(said?.[1] ?? (enhanced?.startsWith('4') || status?.startsWith('4') ? 450 : 500));
  const isTransient = status?.startsWith('4') === true || code < 500;
  const reply = {
    code: isTransient ? 450 : code,
    lines: [diagnostic],
    ...(enhanced === undefined ? {} : { enhanced }),
  };
  return bounceOf(reply);
}

/**
 * Suppresses only where the return path was one recipient's: of several, each has seen it and could name another in a
 * report of its own making, who would get no mail any more.
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

/** Only what is for ever, and what a person has said. */
function originOf(happening: Told): 'bounce' | 'complaint' | undefined {
  if (happening.type === 'email.complained') return 'complaint';
  return happening.type === 'email.bounced' && happening.data.bounce.type === 'Permanent' ? 'bounce' : undefined;
}
