import type { Executor } from '../../platform/db/index.ts';
import { defineHook } from '../../platform/hook.ts';
import type { Store } from '../../platform/store.ts';
import { textOfHtml, type MessageReading } from '../../protocol/read-message/index.ts';
import type { NewReceivedEmail } from '../received-emails/index.ts';

/** Data of a message that an inbox needs in addition to its rows; without the files. */
export interface InboxContent {
  reading: MessageReading;
  text: string;
  mailFrom: string;
}

/** Limits of the text that is shown and searched, and of the HTML that it is made from. */
const TEXT_CHARS = 2000;
const HTML_CHARS = 20_000;

export function buildInboxContent(reading: MessageReading, mailFrom: string): InboxContent {
  if (!reading.isRead) return { reading, text: '', mailFrom };
  const text = reading.text ?? textOfHtml((reading.html ?? '').slice(0, HTML_CHARS));
  return { reading: { ...reading, parts: [], html: null, text: null }, text: text.slice(0, TEXT_CHARS), mailFrom };
}

export interface StoredForInboxes {
  rows: NewReceivedEmail;
  about: InboxContent;
}

/** Puts messages into the inboxes they were sent to, in the transaction that stores them. */
export const putIntoInboxes =
  defineHook<(store: Store, tx: Executor, messages: readonly StoredForInboxes[]) => Promise<void>>('putIntoInboxes');
