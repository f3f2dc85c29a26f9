import type { AnswerOf } from '../client/index.ts';
import { clean, cleanLines } from './clean.ts';
import { textOfHtml } from './text-of-html.ts';
import type { Terminal } from './terminal.ts';
import { formatTime } from './time.ts';

export type ThreadEmail = AnswerOf<'getInboxThreadEmail'>;

/** What somebody wrote, as text: never a picture, never anything that steers the terminal. */
export function bodyOf({ text, html }: Pick<ThreadEmail, 'text' | 'html'>): string {
  const said = text !== null && text.trim() !== '' ? text : textOfHtml(html ?? '');
  return cleanLines(said).trimEnd();
}

/** Who wrote it to whom, and when. */
export function headOf(terminal: Terminal, email: ThreadEmail): string[] {
  const {
    direction,
    from,
    reply_to: replyTo,
    to,
    cc,
    bcc,
    received_at: at,
    attachments,
    verdict,
    last_event: state,
  } = email;
  const people = [...to, ...cc.map((one) => `${one} (cc)`), ...bcc.map((one) => `${one} (bcc)`)];
  const way = direction === 'outbound' ? (state ?? 'sent') : trustOf(verdict);
  const files = attachments.map(
    ({ filename, size }) => `${filename ?? 'a file'}${size === null ? '' : ` (${size} bytes)`}`,
  );
  const lines = [
    `From: ${from}${way === '' ? '' : `  (${way})`}`,
    ...(direction === 'inbound' && isElsewhere(from, replyTo) ? [`Reply-To: ${replyTo.join(', ')}`] : []),
    `To: ${people.join(', ')}`,
    `Date: ${formatTime(terminal, at)}`,
    ...(files.length > 0 ? [`Files: ${files.join(', ')}`] : []),
  ];
  return lines.map(clean);
}

const bare = (mailbox: string): string => (/<([^<>]*)>\s*$/.exec(mailbox)?.[1] ?? mailbox).trim().toLowerCase();

/** Where an answer goes to somebody else than who is shown as its writer. */
const isElsewhere = (from: string, replyTo: readonly string[]): boolean =>
  replyTo.some((one) => bare(one) !== bare(from));

/** What is known of who says that they wrote it. */
function trustOf(verdict: ThreadEmail['verdict']): string {
  if (verdict === 'suspicious') return 'probably forged';
  return verdict === 'unauthenticated' ? 'not proven' : '';
}

/** An answer and the mail it answers, as they are seen in mail programs. */
export const quote = (text: string): string =>
  text
    .split('\n')
    .map((line) => (line === '' ? '>' : line.startsWith('>') ? `>${line}` : `> ${line}`))
    .join('\n');
