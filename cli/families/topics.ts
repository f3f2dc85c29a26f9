import {
  declareAction,
  declareDetail,
  linesIn,
  declareList,
  withRemaining,
  type Family,
  type Field,
  type ItemOf,
} from './family.ts';

const columns: readonly Field<ItemOf<'listTopics'>>[] = [
  { name: 'id', label: 'Id', kind: 'id' },
  { name: 'name', label: 'Name', kind: 'name' },
  { name: 'default_subscription', label: 'Default', kind: 'state' },
  { name: 'visibility', label: 'Visibility', kind: 'state' },
  { name: 'confirmation', label: 'Confirmation', kind: 'state' },
  { name: 'confirmation_template_id', label: 'Confirmation template', kind: 'id' },
  { name: 'description', label: 'Description' },
  { name: 'created_at', label: 'Created', kind: 'time' },
];

const CHOICES = ['opt_in', 'opt_out'] as const;

export const topics = withRemaining({
  command: 'topics',
  summary: 'manage the topics that contacts can subscribe to',
  noun: 'a topic',
  list: declareList('listTopics', { columns, empty: 'There are no topics yet.' }),
  get: declareDetail('getTopic', { fields: columns }),
  actions: [declareAction('createTopic'), declareAction('updateTopic'), declareAction('deleteTopic')],
});

export const contactTopics = {
  command: 'contacts',
  summary: 'show and change the topics of a contact',
  noun: 'a topic',
  list: declareList('listContactTopics', {
    columns: [
      { name: 'id', label: 'Id', kind: 'id' },
      { name: 'name', label: 'Name', kind: 'name' },
      { name: 'subscription', label: 'Subscription', kind: 'state' },
      { name: 'confirmation', label: 'Confirmation', kind: 'state' },
      { name: 'description', label: 'Description' },
    ],
  }),
  actions: [
    declareAction('updateContactTopics', {
      lines: linesIn('listContactTopics', 'topics', 'There are no topics yet.', ({ data }) =>
        data.map(({ id, name, description: about, subscription }) => ({
          name: id,
          label: name,
          current: subscription,
          flag: { value: '<subscription>', says: about ?? `opt_in or opt_out of ${name}`, choices: CHOICES },
        })),
      ),
      done: 'Set',
      print: ({ topics: set }) => set.map(({ id, subscription }) => `${id}\t${subscription}`).join('\n'),
      describe: ({ topics: set }) => (set.length === 1 ? 'one topic' : `${set.length} topics`),
    }),
  ],
} satisfies Family;
