import type { AnswerOf } from '../../cli/client/index.ts';
import { pausedInWords } from '../../cli/families/index.ts';
import { bodyOf, clean, cleanLines, headOf, type Terminal, type ThreadEmail } from '../../cli/output/index.ts';
import { bold, faint, fit, inverse, shownWidth, wrap } from './text.ts';

export type ThreadRow = AnswerOf<'listInboxThreads'>['data'][number];

export interface OpenThread {
  thread: AnswerOf<'getInboxThread'>;
  /** The newest last. */
  emails: readonly ThreadEmail[];
  hasOlder: boolean;
}

/** A row of the list takes two lines: who and when, and what about. */
export const ROW_LINES = 2;

/**
 * Who wrote last, or behind an arrow whom the inbox has answered since. Who it was is as the email says: a row does not know
 * whether that is proven, the thread beside it does.
 */
export function drawThreadRow(row: ThreadRow, { isInHand, width }: { isInHand: boolean; width: number }): string[] {
  const when = shortTime(row.received_at);
  const sign = row.read ? ' ' : '●';
  const others = clean(nameIn(row.to[0] ?? row.cc[0] ?? row.bcc[0] ?? ''));
  const who = row.direction === 'outbound' ? `→ ${others}` : clean(nameIn(row.from ?? row.to.join(', ')));
  const count = row.email_count > 1 ? ` (${row.email_count})` : '';
  const room = Math.max(4, width - when.length - 4);
  const named = fit(who, Math.min(shownWidth(who), Math.max(4, room - count.length))) + count;
  const signs = [row.has_draft ? 'draft' : '', row.has_attachment ? 'file' : '', ...row.labels.map(({ name }) => name)];
  const marks = signs.filter(Boolean).map((one) => `[${clean(one)}]`);
  const first = `${isInHand ? '›' : ' '}${sign} ${fit(named, room)} ${when}`;
  const second = `   ${[...marks, clean(row.subject ?? '(no subject)')].join(' ')}`;
  const lines = [fit(first, width), fit(second, width)];
  if (isInHand) return lines.map(inverse);
  return row.read ? lines : [bold(lines[0] ?? ''), lines[1] ?? ''];
}

/** The name of `Ada Lovelace <ada@example.org>`, or the address where there is none. */
const nameIn = (from: string): string => /^\s*"?([^"<]*[^"<\s])"?\s*</.exec(from.slice(0, 400))?.[1] ?? from;

function shortTime(time: string): string {
  const at = new Date(time);
  const local = new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString();
  return `${local.slice(5, 10)} ${local.slice(11, 16)}`;
}

/** So many quoted lines in a row are shown; what was quoted before that everybody has read. */
const QUOTED_SHOWN = 3;

export interface DrawnThread {
  lines: string[];
  /** Where the newest email begins. */
  newestAt: number;
}

/** A thread as text, the newest email last. */
export function drawThread(
  terminal: Terminal,
  { thread, emails, hasOlder }: OpenThread,
  { width, isQuoteShown }: { width: number; isQuoteShown: boolean },
): DrawnThread {
  const { labels, assignee, notes, snoozed_until: until } = thread;
  const known = [
    ...labels.map(({ name }) => `[${clean(name)}]`),
    ...(assignee === null ? [] : [`for ${clean(assignee)}`]),
    ...(until === null ? [] : [`snoozed until ${shortTime(until)}`]),
  ].join('  ');
  const lines = [
    ...wrap(bold(clean(thread.subject ?? '(no subject)')), width),
    ...(known === '' ? [] : wrap(known, width)),
    ...(thread.answers_paused ? wrap(`Programs: ${clean(pausedInWords(thread))}`, width) : []),
    ...(notes === null ? [] : wrap(`Note: ${cleanLines(notes)}`, width)),
    ...(hasOlder ? [faint(fit('Older emails are not shown here.', width))] : []),
  ];
  let newestAt = 0;
  for (const email of emails) {
    newestAt = lines.length;
    const rule = '─'.repeat(Math.max(0, width));
    const head = headOf({ ...terminal, isTty: true }, email).flatMap((line) => wrap(faint(line), width));
    const body = wrap(isQuoteShown ? bodyOf(email) : withoutQuotes(bodyOf(email)), width);
    lines.push(faint(rule), ...head, '', ...body, '');
  }
  return { lines, newestAt };
}

function withoutQuotes(text: string): string {
  const lines = text.split('\n');
  const shown: string[] = [];
  for (let at = 0; at < lines.length;) {
    let end = at;
    while (lines[end]?.startsWith('>')) end++;
    const kept = end - at > QUOTED_SHOWN ? lines.slice(at, at + QUOTED_SHOWN - 1) : lines.slice(at, end);
    if (end > at) shown.push(...kept);
    if (end - at > QUOTED_SHOWN) shown.push(`  … ${end - at - kept.length} more quoted lines (o shows them)`);
    if (end === at) shown.push(lines[end++] ?? '');
    at = end;
  }
  return shown.join('\n');
}
