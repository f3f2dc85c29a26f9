import type { AnswerOf } from '../client/index.ts';
import type { Flag, ItemOf, Key, Tone } from './family.ts';

export type Thread = ItemOf<'listInboxThreads'> | ItemOf<'searchInboxThreads'> | AnswerOf<'getInboxThread'>;

export const INBOX: Key = { word: 'inbox', says: 'the id of the inbox, or its address' };
export const THREAD: Key = { word: 'thread', says: 'the id of the thread' };
export const DRAFT: Key = { word: 'draft', says: 'the id of the draft' };
export const LABEL: Key = { word: 'label', says: 'the id of the label' };

/** For examples. */
export const ADDRESS = 'support@example.com';
export const THREAD_ID = '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2f03';
export const LABEL_ID = '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2f02';
export const DRAFT_ID = '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2f04';
export const EMAIL_ID = '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e91';

export const FOLDERS = ['inbox', 'archive', 'spam', 'sent', 'trash'] as const;

/** Where a thread is, and what else is to be known of it, in a word each. */
export function stateOfThread(thread: Thread): string {
  const { folder, read: isRead, snoozed_until: until } = thread;
  return [
    isRead ? '' : 'unread',
    until === null ? folder : 'snoozed',
    'direction' in thread && thread.direction === 'outbound' && folder !== 'sent' && 'sent last',
    'has_draft' in thread && thread.has_draft && 'draft',
  ]
    .filter(Boolean)
    .join(', ');
}

export const toneOfThread = ({ read: isRead, folder }: Thread): Tone =>
  folder === 'spam' ? 'bad' : isRead ? 'plain' : 'attention';

export const labelsInWords = ({ labels }: Pick<Thread, 'labels'>): string => labels.map(({ name }) => name).join(', ');

/** Why a program cannot answer here. */
export const pausedInWords = ({ answers_paused: paused }: Pick<AnswerOf<'getInboxThread'>, 'answers_paused'>): string =>
  paused === null
    ? ''
    : `paused until ${paused.until}: two of them may be answering each other (${paused.address}). People who are signed in can answer.`;

export const tellLabels = ({ data }: { data: readonly { name: string }[] }): string =>
  data.length === 0 ? 'It has no labels.' : `Labels  ${data.map(({ name }) => name).join(', ')}`;

/** The parts of a mail that are written in an inbox, but for its text. */
export const MORE_OF_MAIL = {
  html: { value: '<html>', says: 'the HTML', fromFile: 'HTML', hasLines: true, isMore: true },
  cc: { value: '<address>', says: 'who gets a copy, in sight of all', isRepeatable: true, isMore: true },
  bcc: { value: '<address>', says: 'who gets a copy that nobody sees', isRepeatable: true, isMore: true },
  attachments: {
    flag: 'attach',
    value: '<file>',
    says: 'a file or an https URL; its type behind ;content_type=',
    isRepeatable: true,
    isFile: true,
    syntax: 'attachment',
    isMore: true,
  },
} as const satisfies Readonly<Record<string, Flag>>;

export const HEADERS: Flag = {
  flag: 'header',
  value: '<name: value>',
  says: 'a header beside those that the service sets',
  isRepeatable: true,
  syntax: 'header',
  isMore: true,
};

/** A mail of which there is a text alone is shown as it is; the fields of a form of it. */
export const TEXT: Flag = { value: '<text>', says: 'the text', fromFile: 'text', hasLines: true };
