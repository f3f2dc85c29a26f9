import { adviseFor, declareAction, declareDetail, declareList, readIn, withRemaining } from './family.ts';
import type { FieldsOf } from './family.ts';

const fields: FieldsOf<'listInboxDrafts' | 'getInboxDraft'> = {
  type: { label: 'Kind', value: ({ type }) => (type === 'reply' ? 'answer' : 'new mail') },
  updated_at: 'Changed',
  changed_by_app: 'Written by app',
  cc: { kind: 'text' },
  bcc: { kind: 'text' },
  reply_to_email_id: 'Answers',
  attachments: { value: ({ attachments }) => attachments.map(({ filename }) => filename) },
};
const columns = ['id', 'type', 'to', 'subject', 'updated_at'] as const;
const more = ['cc', 'bcc', 'thread_id', 'reply_to_email_id', 'attachments'] as const;

export const inboxDrafts = withRemaining({
  summary: 'manage the drafts of an inbox',
  list: declareList('listInboxDrafts', {
    fields: { ...fields, snippet: 'Text' },
    // A reply has neither recipients nor a subject of its own; its text shows which one it is.
    columns: ['id', 'type', 'to', 'subject', 'snippet', 'updated_at'],
    wide: ['changed_by_app'],
    asked: more,
    empty: 'There are no drafts.',
  }),
  get: declareDetail('getInboxDraft', {
    fields: { ...fields, email_id: 'Sent as' },
    columns: [...columns, 'changed_by_app', ...more, 'email_id', 'created_at', 'text', 'html'],
    hint: ({ email_id: sentAs }) =>
      sentAs === null ? undefined : { words: 'See what happened to it with', command: ['explain', sentAs] },
  }),
  actions: [
    declareAction('createInboxDraft', { done: 'Written' }),
    declareAction('updateInboxDraft', { current: readIn('getInboxDraft', ({ attachments: _, ...draft }) => draft) }),
    declareAction('sendInboxDraft', { done: 'Sent', hint: adviseFor('See its status with', 'explain') }),
    declareAction('deleteInboxDraft'),
  ],
  elsewhere: { replyToInboxEmail: true, forwardInboxEmail: true, renderInboxTemplate: true },
});
