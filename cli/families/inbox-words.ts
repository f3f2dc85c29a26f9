import type { AnswerOf } from '../client/index.ts';
import type { Flag, ItemOf, Key, Tone } from './family.ts';

export type Thread = ItemOf<'listInboxThreads'> | ItemOf<'searchInboxThreads'> | AnswerOf<'getInboxThread'>;

export const INBOX: Key = { word: 'inbox', says: 'the id of the inbox, or its address' };
export const DRAFT: Key = { word: 'draft', says: 'the id of the draft' };
export const LABEL: Key = { word: 'label', says: 'the id of the label' };

/** For examples. */
export const ADDRESS = 'support@example.com';

/** Describes the folder of a thread and its other properties, in a word each. */
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

/** Says why a program cannot answer here. */
export const pausedInWords = ({ answers_paused: paused }: Pick<AnswerOf<'getInboxThread'>, 'answers_paused'>): string =>
  paused === null
    ? ''
    : `paused until ${paused.until}: two of them may be replying to each other (${paused.address}). People who are signed in can reply.`;

export const describeLabels = ({ data }: { data: readonly { name: string }[] }): string =>
  data.length === 0 ? 'The thread has no labels.' : `Labels  ${data.map(({ name }) => name).join(', ')}`;

/** A mail without HTML is shown as text; these are its form fields. */
export const TEXT: Flag = { value: '<text>', says: 'the text', fromFile: 'text', hasLines: true };
