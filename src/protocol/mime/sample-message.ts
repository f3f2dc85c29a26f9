// Helpers shared by the tests of this folder; nothing else imports them.
import { parseMailbox } from '../address/index.ts';
import type { Mailbox } from '../address/index.ts';
import { composeMessage, serializeHeaders } from './index.ts';
import type { MessageInput } from './index.ts';

export const mailbox = (text: string): Mailbox => {
  const result = parseMailbox(text);
  if (!result.ok) throw new Error(result.fault);
  return result.mailbox;
};

export const input = (changes: Partial<MessageInput> = {}): MessageInput => ({
  from: mailbox('Acme <news@example.com>'),
  to: [mailbox('ann@example.org')],
  subject: 'Hello',
  date: new Date(Date.UTC(2026, 10, 5, 7, 8, 9)),
  messageId: 'id-1@example.com',
  boundarySeed: 'seed',
  ...changes,
});

export const raw = (message: MessageInput): Buffer => {
  const { headers, body } = composeMessage(message);
  return Buffer.concat([serializeHeaders(headers), Buffer.from('\r\n'), body]);
};
export const composeBody = (message: MessageInput): string => composeMessage(message).body.toString('latin1');
export const header = (message: MessageInput, name: string): string | undefined =>
  composeMessage(message).headers.find(([known]) => known.toLowerCase() === name.toLowerCase())?.[1];
const lines = (text: string | undefined): string => (text ?? '').replace(/\r\n|\r|\n/g, '\n');
// A parser returns the break that ends the last line; a single part always has one.
export const trimmed = (text: string | undefined): string => lines(text).replace(/\n+$/, '');
