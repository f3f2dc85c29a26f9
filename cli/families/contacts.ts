import { declareAction, declareDetail, declareFamily, declareList, readIn, withRemaining } from './family.ts';
import type { AnswerOf, FieldsOf, ItemOf } from './family.ts';

type Mailed = Pick<AnswerOf<'getContact'>, 'unsubscribed' | 'suppression'>;

/** Says whether marketing mail reaches a contact, and what prevents it. */
function describeMail({ unsubscribed, suppression }: Mailed): string {
  if (!suppression) return unsubscribed ? 'unsubscribed' : 'subscribed';
  return `${unsubscribed ? 'unsubscribed, ' : ''}suppressed (${suppression.origin})`;
}

const fields: FieldsOf<'listContacts' | 'getContact'> = {
  unsubscribed: {
    label: 'Mail',
    kind: 'state',
    value: describeMail,
    tone: ({ unsubscribed, suppression }) => (suppression ? 'bad' : unsubscribed ? 'attention' : 'plain'),
  },
};
const columns = ['id', 'email', 'first_name', 'last_name', 'unsubscribed', 'created_at'] as const;
/** The columns of every list of contacts. */
export const contactColumns = { fields, columns };

type Properties = AnswerOf<'getContact'>['properties'];

const propertiesInWords = (values: Properties): string =>
  Object.entries(values)
    .map(([key, value]) => `${key}=${String(value)}`)
    .join(', ');

/** Formats properties as the flag takes them. */
const writeProperties = (values: Properties): string =>
  Object.entries(values)
    .map(([key, value]) => (typeof value === 'string' ? `${key}=${value}` : `${key}:=${String(value)}`))
    .join(', ');

/** Says what was erased, what is kept and why, a line for each table. */
function describeErasure(erasure: AnswerOf<'eraseAddress'>): string {
  const { emails, received_emails: received, canceled, drafts, skipped, erased, kept, not_searched: left } = erasure;
  const lines = [
    erased.length === 0
      ? 'Nothing of the address was left to erase.'
      : `Erased: ${emails} sent and ${received} received emails, of which ${canceled} were not sent yet.`,
    ...erased.map(({ table, rows }) => `  ${table}: ${rows}`),
    ...(drafts > 0 ? [`${drafts} drafts to the address were deleted, or lost it among other recipients.`] : []),
    ...(skipped > 0
      ? [`${skipped} emails or imports are being processed right now; repeat the command in a few minutes.`]
      : []),
    ...(kept.length > 0 ? ['Kept:'] : []),
    ...kept.map(({ table, rows, reason }) => `  ${table}: ${rows} (${reason})`),
    ...(left.length > 0 ? ['Not searched:'] : []),
    ...left.map(({ table, reason }) => `  ${table}: ${reason}`),
  ];
  return lines.join('\n');
}

export const contacts = withRemaining({
  summary: 'manage the people you write to',
  list: declareList('listContacts', contactColumns),
  get: declareDetail('getContact', {
    fields: {
      ...fields,
      'suppression.created_at': 'Suppressed',
      'suppression.source_id': 'By email',
      properties: { value: ({ properties }) => propertiesInWords(properties) },
    },
    columns: [...columns, 'suppression.created_at', 'suppression.source_id', 'properties'],
  }),
  actions: [
    declareAction('createContact', { done: 'Added' }),
    declareAction('updateContact', {
      current: readIn('getContact', (contact) => ({ ...contact, properties: writeProperties(contact.properties) })),
    }),
    declareAction('deleteContact', { done: 'Erased' }),
    declareAction('eraseAddress', {
      destroysNamed: ({ email, with_mail: withMail }) => ({
        says: `erase the address permanently${withMail === true ? ', with the content of the mail to and from it' : ''}`,
        name: String(email),
      }),
      describe: describeErasure,
    }),
  ],
  elsewhere: { listContactActivity: true },
});

/** Says by which way a decision came, and who made it. */
function describeSource({ source, actor }: ItemOf<'listContactActivity'>): string {
  if (source === null) return '';
  return actor === null ? source : `${source} (${[actor.kind, actor.name].filter((part) => part !== null).join(' ')})`;
}

export const contactActivity = declareFamily({
  noun: 'an entry',
  list: declareList('listContactActivity', {
    fields: {
      created_at: { label: 'When', kind: 'moment' },
      type: {
        label: 'What',
        kind: 'state',
        filter: 'kind',
        tone: ({ kind }) => (kind === 'bounce' || kind === 'complaint' ? 'bad' : 'plain'),
      },
      subject: { label: 'About', value: ({ subject, name }) => subject ?? name },
      origin: { label: 'Why', value: ({ origin, status, reason }) => origin ?? reason ?? status },
      source: { label: 'By', words: describeSource },
    },
    columns: ['created_at', 'type', 'subject', 'origin', 'source', 'link'],
    wide: ['topic_id', 'email_id', 'import_id', 'run_id', 'id'],
    empty: 'Nothing has happened yet.',
  }),
});
