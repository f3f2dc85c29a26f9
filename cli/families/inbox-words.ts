import type { AnswerOf, ItemOf, Tone } from './family.ts';

export type Row = ItemOf<'listInboxThreads'> | ItemOf<'searchInboxThreads'>;
export type Thread = Row | AnswerOf<'getInboxThread'>;

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

/** Says who else is writing a reply; empty if nobody is. */
export function answeringInWords({ answering }: Pick<Thread, 'answering'>): string {
  const names = answering.filter(({ is_caller: isCaller }) => !isCaller).map(({ name }) => name);
  const last = names.at(-1);
  if (last === undefined) return '';
  return names.length === 1 ? `${last} is answering` : `${names.slice(0, -1).join(', ')} and ${last} are answering`;
}

export const describeLabels = ({ data }: { data: readonly { name: string }[] }): string =>
  data.length === 0 ? 'The thread has no labels.' : `Labels  ${data.map(({ name }) => name).join(', ')}`;
