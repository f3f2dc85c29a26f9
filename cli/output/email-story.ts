import type { Advice, EmailHistory, Forwarded, AnswerOf } from '../client/index.ts';
import { toneOfEmail } from '../families/emails.ts';
import { createLineFormatter, type FormatAdvice } from './advice.ts';
import { clean } from './clean.ts';
import { toStyle } from './items.ts';
import type { Terminal } from './terminal.ts';
import { formatTime } from './time.ts';
import { bytesInWords } from '../families/bytes-in-words.ts';
import { formatSubject } from '../families/queue.ts';

/** The parts of an email's history that teams and operators both see. */
type ShownHistory = Omit<EmailHistory, 'email' | 'suppressed'> & {
  email: Pick<EmailHistory['email'], 'id' | 'from' | 'to' | 'cc' | 'bcc' | 'subject' | 'last_event' | 'scheduled_at'>;
  /** Undefined if the reader must not see the list of suppressions. */
  suppressed: EmailHistory['suppressed'] | undefined;
};

type Email = ShownHistory['email'];
type Event = EmailHistory['events'][number];
type Attempt = EmailHistory['attempts'][number];
type Pending = EmailHistory['pending'][number];

interface StoryOptions {
  withTranscript?: boolean;
  /** Words an advice for its reader. */
  say?: FormatAdvice;
}

/**
 * Describes what happened to an email, from its acceptance to the next step, in whole sentences: one text for each
 * moment.
 */
export function formatHistory(
  terminal: Terminal,
  history: ShownHistory,
  { withTranscript = false, say = createLineFormatter() }: StoryOptions = {},
): string[] {
  const cleaned = withoutSteering(history);
  const { email, events, attempts, pending, isCut, forwarded, requestId } = cleaned;
  const story = [
    ...events
      .filter((event) => !isDescribed(event, attempts))
      .map((event) => ({ at: event.created_at, lines: describeEvent(terminal, event) })),
    ...attempts.map((attempt) => ({
      at: attempt.created_at,
      lines: describeAttempt(terminal, attempt, withTranscript),
    })),
  ].sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0));
  return [
    heading(terminal, email, requestId),
    ...(forwarded ? [describeForward(forwarded, say)] : []),
    ...(isCut ? formatAdvice(say, seeEarlier(email.id)) : []),
    ...story.map(({ at, lines }) => [formatTime(terminal, at, 'second'), ...indent(lines)].join('\n')),
    [
      ...describeSuppressed(cleaned, say),
      ...describePending(terminal, cleaned),
      ...describeWaiting(pending, email, say),
    ].join('\n'),
  ];
}

const formatAdvice = (say: FormatAdvice, advice: Advice): string[] =>
  [say(advice)].filter((said) => said !== undefined);

const seeEarlier = (id: string): Advice => ({
  words: 'Earlier events are not shown; list all with',
  command: ['listEmailEvents', id, '--all'],
});

const describeForward = ({ ruleId, pattern, receivedId }: Forwarded, say: FormatAdvice): string =>
  [
    ...(pattern === undefined
      ? [`Forwarded by the inbound rule ${ruleId}, which was deleted or which you may not read.`]
      : formatAdvice(say, {
          words: `Forwarded by the inbound rule for ${pattern}`,
          command: ['getInboundRule', ruleId],
        })),
    ...(receivedId === undefined
      ? []
      : formatAdvice(say, { words: 'The received email', command: ['getReceivedEmail', receivedId] })),
    '',
  ].join('\n');

const ASKED_AFTER: readonly string[] = ['bounced', 'suppressed'];
const EVENTS_ASKED_AFTER: readonly string[] = ['email.bounced', 'email.complained', 'email.suppressed'];

/** A report does not always suppress, the simulator never does, and an entry may have been removed since. */
function describeSuppressed({ events, attempts, suppressed }: ShownHistory, say: FormatAdvice): string[] {
  if (suppressed === undefined) return [];
  const ended = attempts.flatMap(({ recipients }) =>
    recipients.filter(({ outcome }) => ASKED_AFTER.includes(outcome)).map(({ email }) => email),
  );
  const told = events
    .filter(({ type }) => EVENTS_ASKED_AFTER.includes(type))
    .flatMap(({ data }) => readRecipients(data));
  const entries = new Map(suppressed.map((entry) => [entry.email.toLowerCase(), entry]));
  const all = [...suppressed.map(({ email }) => email), ...ended, ...told.map(String)];
  const byKey = new Map(all.map((email) => [email.toLowerCase(), email]));
  return [...byKey].map(([key, email]) => {
    const entry = entries.get(key);
    if (!entry) return `\n${email} is not suppressed now: mail is sent to it.`;
    const words = `${email} is suppressed now (${ORIGINS[entry.origin]}), so nothing is sent to it. Remove the suppression with`;
    return `\n${say({ words, command: ['deleteSuppression', asWord(email)] }) ?? words}`;
  });
}

const ORIGINS = { bounce: 'bounced', complaint: 'marked as spam', manual: 'added by hand' } as const;

/** An address that begins with a dash would be taken for an option. */
const asWord = (email: string): string => (email.startsWith('-') ? 'ADDRESS' : email);

/** Subjects, links and replies of mail servers are text of untrusted senders. */
const withoutSteering = <T>(value: T): T =>
  JSON.parse(JSON.stringify(value), (_, part: unknown) => (typeof part === 'string' ? clean(part) : part)) as T;

/** The attempt that caused it says more. No attempt reports that delivery was given up, or that mail bounced later. */
function isDescribed({ type, created_at: at, data }: Event, attempts: readonly Attempt[]): boolean {
  const outcome = BY_TRIES[type];
  if (outcome === undefined) return false;
  const ended = attempts
    .filter((attempt) => attempt.created_at <= at)
    .flatMap(({ recipients }) => recipients.filter((one) => one.outcome === outcome).map(({ email }) => email));
  return readRecipients(data).every((email) => ended.includes(String(email)));
}

const BY_TRIES: Readonly<Record<string, Attempt['recipients'][number]['outcome']>> = {
  'email.delivered': 'delivered',
  'email.delivery_delayed': 'deferred',
  'email.bounced': 'bounced',
};

const readRecipients = (data: Event['data']): unknown[] => (Array.isArray(data?.['to']) ? data['to'] : []);

function heading(terminal: Terminal, email: Email, requestId: string | null): string {
  const state = terminal.paint(toStyle(toneOfEmail(email.last_event)), email.last_event);
  const whom = (['to', 'cc', 'bcc'] as const)
    .filter((field) => email[field].length > 0)
    .map((field) => ` ${field} ${email[field].join(', ')}`);
  const request = requestId === null ? '' : `request ${requestId}\n`;
  return `${terminal.paint('bold', email.subject || '(no subject)')}\nfrom ${email.from}${whom.join(',')}: ${state}\n${request}`;
}

const EVENTS: Readonly<Record<string, string>> = {
  'email.queued': 'Accepted, and queued.',
  'email.scheduled': 'Accepted, to be sent later.',
  'email.sent': 'The first delivery started.',
  'email.canceled': 'Canceled before it was sent.',
  'email.opened': 'Opened.',
  'email.clicked': 'A link was clicked.',
  'email.unsubscribed': 'A recipient unsubscribed.',
  'email.delivered': 'Delivered, according to a later report.',
  'email.delivery_delayed': 'Delayed, according to a report.',
  'email.bounced': 'Bounced.',
  'email.complained': 'Marked as spam.',
  'email.suppressed': 'Not sent.',
  'email.failed': 'Could not be sent.',
};

function describeEvent(terminal: Terminal, { type, data, explanation, advice }: Event): string[] {
  const to = readRecipients(data);
  const whom = to.length > 0 ? ` (${to.join(', ')})` : '';
  const about = (part: string, field: string) => (data?.[part] as Record<string, unknown> | undefined)?.[field];
  const codes = about('bounce', 'diagnosticCode');
  const link = about('click', 'link');
  const more: unknown[] = [
    about('bounce', 'message'),
    ...(Array.isArray(codes) ? codes.map((code) => terminal.paint('dim', String(code))) : []),
    about('suppressed', 'message'),
    explanation,
    // An operator's own words.
    about('failed', 'message'),
    advice ?? undefined,
    typeof link === 'string' ? terminal.paint('dim', link) : undefined,
  ];
  const by = data?.['machine'] === true ? ', by a machine: not counted as a reader' : '';
  return [
    `${(EVENTS[type] ?? type).replace(/\.$/, '')}${whom}${by}.`,
    ...more.filter((line): line is string => typeof line === 'string' && line !== ''),
  ];
}

function describeAttempt(terminal: Terminal, attempt: Attempt, withTranscript: boolean): string[] {
  // A server of an older version names no relay, no source and no provider.
  const { mx, relay, source, provider, address, tls, transcript } = attempt;
  const from = source && source !== `relay ${relay}` ? `from ${source} ` : '';
  const server =
    mx === null || address === null
      ? (mx ?? attempt.destination)
      : `${mx} [${address}]${provider ? ` (${provider})` : ''}, ${tls?.version ?? 'not encrypted'}`;
  const dialogue = transcript.length > 0 ? transcript : [noDialogue(attempt)];
  return [
    `Try ${attempt.attempt} ${from}${relay ? `through the relay ${relay},` : 'at'} ${server}, ${attempt.duration_ms} ms`,
    ...attempt.recipients.flatMap((recipient) => [
      `${terminal.paint(toStyle(TONES[recipient.outcome]), recipient.outcome)}  ${recipient.email}`,
      ...(recipient.reply === null ? [] : [`  ${terminal.paint('dim', recipient.reply)}`]),
      `  ${recipient.explanation}`,
      ...(recipient.advice === null ? [] : [`  ${recipient.advice}`]),
    ]),
    ...(withTranscript ? dialogue.map((line) => `  ${terminal.paint('dim', line)}`) : []),
  ];
}

/** Mail that the playground catches, and that to the simulator, stays on this server. */
const noDialogue = ({ address }: Attempt): string =>
  address === null ? 'There is no SMTP dialogue: no mail server was contacted.' : 'There is no SMTP dialogue.';

const TONES = {
  delivered: 'good',
  deferred: 'attention',
  ambiguous: 'attention',
  bounced: 'bad',
  suppressed: 'bad',
  failed: 'bad',
} as const;

function describePending(terminal: Terminal, { pending, email, suppressed = [] }: ShownHistory): string[] {
  const entries = new Set(suppressed.map((entry) => entry.email.toLowerCase()));
  const isLeftOut = (recipients: readonly string[]): boolean =>
    recipients.length > 0 && recipients.every((recipient) => entries.has(readAddress(recipient)));
  if (email.last_event === 'scheduled') {
    const at = formatTime(terminal, email.scheduled_at, 'second');
    return [
      isLeftOut([...email.to, ...email.cc, ...email.bcc])
        ? `\n${endsSuppressed(at)}`
        : `\nNext: it will be sent at ${at}.`,
    ];
  }
  if (pending.length === 0) return ['\nNothing further will happen.'];
  return pending.map((delivery) => {
    const until = formatTime(terminal, delivery.until, 'second');
    const isSkipped = delivery.state === 'waiting' && isLeftOut(delivery.recipients);
    return isSkipped ? `\n${endsSuppressed(until)}` : `\nNext: ${NEXT[delivery.state](delivery, until)}`;
  });
}

const endsSuppressed = (at: string): string =>
  `Next: at ${at} it ends as suppressed, unless the suppression is removed before that.`;

/** Returns the address of a recipient, who may be written with a name, in lower case. */
const readAddress = (recipient: string): string => (/<([^<>]*)>\s*$/.exec(recipient)?.[1] ?? recipient).toLowerCase();

/** Mail that waits for its domain is sent once the records exist. */
function describeWaiting(pending: readonly Pending[], { from }: Email, say: FormatAdvice): string[] {
  const [, domain] = /@([^\s@>]+)>?$/.exec(from) ?? [];
  if (domain === undefined || !pending.some(({ state }) => state === 'awaits_domain')) return [];
  return formatAdvice(say, { words: 'See which of its records are missing with', command: ['getDomain', domain] });
}

const NEXT: Record<Pending['state'], (delivery: Pending, until: string) => string> = {
  waiting: ({ destination, attempts, waits_because: limit = null }, until) => {
    const next =
      attempts === 0
        ? `it will be sent to ${destination} at ${until}.`
        : `attempt ${attempts + 1} to deliver it to ${destination} is at ${until}.`;
    // A server of an older version has no `waits_because`.
    return limit === null ? next : `${next}\nwaiting: ${limit}`;
  },
  under_way: ({ destination }) => `it is being delivered to ${destination} right now.`,
  awaits_domain: ({ destination }, until) =>
    `it waits for the sending domain to be verified again, and is then sent to ${destination}, or retried at ${until}.`,
  held: ({ destination }) =>
    `the operator of this server has put it on hold; it will be sent to ${destination} when the hold is released.`,
  in_doubt: ({ destination }, until) =>
    `it is unknown whether ${destination} accepted it. It is never sent twice, and counts as failed at ${until} unless a report arrives before that.`,
};

const indent = (lines: readonly string[], by = '  '): string[] => lines.map((line) => `${by}${line}`);

/** An operator cannot act for the team: nothing is advised that takes a key of it. */
export function formatQueuedEmail(
  terminal: Terminal,
  email: AnswerOf<'getQueuedEmail'>,
  withTranscript: boolean,
): string[] {
  const { events, attempts, pending, is_cut: isCut, team, size, request_id: requestId } = email;
  const subject = email.subject === null ? `(subject ${formatSubject(email) || 'not shown'})` : email.subject;
  const story = { events: events.toReversed(), attempts: attempts.toReversed(), pending, isCut, requestId };
  const history = { email: { ...email, subject }, ...story, suppressed: undefined, forwarded: undefined };
  const [heading = '', ...told] = formatHistory(terminal, history, { withTranscript, say: () => undefined });
  return [
    `${heading.trimEnd()}\nteam ${team}, ${bytesInWords(size)}\n`,
    ...(isCut ? ['Earlier events and attempts are not shown.'] : []),
    ...told,
  ];
}
