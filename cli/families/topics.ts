import {
  actionOf,
  currentIn,
  detailOf,
  linesIn,
  listOf,
  nameIn,
  type Family,
  type Field,
  type Flag,
  type ItemOf,
  type Key,
} from './family.ts';

const TOPIC: Key = { word: 'id', says: 'the id of the topic' };
const CONTACT: Key = { word: 'contact', says: 'its id or address' };

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

const description: Flag = { value: '<text>', says: 'what contacts read below the name', isClearable: true };
const visibility: Flag = { value: '<visibility>', says: 'public or private', choices: ['private', 'public'] };
const confirmation: Flag = {
  value: '<confirmation>',
  says: 'none, or required: whom the API opts in is asked by mail first',
  choices: ['none', 'required'],
};
const confirmation_template_id: Flag = {
  value: '<template>',
  says: 'the id of the published template to ask with, which declares CONFIRMATION_URL',
  isClearable: true,
};

export const topics = {
  command: 'topics',
  summary: 'what you write about, and who wants to read it',
  noun: 'a topic',
  list: listOf('listTopics', {
    summary: 'list topics, newest first',
    example: 'topics list',
    columns,
    empty: 'There are no topics yet.',
  }),
  get: detailOf('getTopic', {
    summary: 'show a topic',
    example: 'topics get 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e32',
    path: { topic_id: TOPIC },
    fields: columns,
  }),
  actions: [
    actionOf('createTopic', {
      verb: 'create',
      key: 'c',
      summary: 'create a topic',
      example: 'topics create News --default-subscription opt_in',
      flags: {
        name: { value: '<name>', says: 'what contacts read', isWord: true, isRequired: true },
        default_subscription: {
          value: '<subscription>',
          says: 'opt_in or opt_out: what holds for contacts that have not chosen, for good',
          isRequired: true,
          choices: CHOICES,
        },
        description,
        visibility,
        confirmation,
        confirmation_template_id,
      },
      done: 'Created',
    }),
    actionOf('updateTopic', {
      verb: 'update',
      key: 'u',
      summary: 'change a topic',
      example: "topics update 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e32 --name 'Product news'",
      path: { topic_id: TOPIC },
      flags: {
        name: { value: '<name>', says: 'its new name' },
        description,
        visibility,
        confirmation,
        confirmation_template_id,
      },
      current: currentIn('getTopic'),
      done: 'Changed',
    }),
    actionOf('deleteTopic', {
      verb: 'delete',
      key: 'd',
      summary: 'delete a topic',
      example: 'topics delete 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e32',
      path: { topic_id: TOPIC },
      done: 'Deleted',
      destroys: {
        says: 'delete the topic, and with it what contacts chose of it',
        name: nameIn('getTopic', (topic) => topic.name),
      },
    }),
  ],
} satisfies Family;

export const contactTopics = {
  command: 'contacts',
  summary: 'what a contact wants to read',
  noun: 'a topic',
  list: listOf('listContactTopics', {
    verb: 'topics',
    summary: 'list every topic with what holds for a contact',
    example: 'contacts topics ada@example.org',
    path: { contact: CONTACT },
    columns: [
      { name: 'id', label: 'Id', kind: 'id' },
      { name: 'name', label: 'Name', kind: 'name' },
      { name: 'subscription', label: 'Subscription', kind: 'state' },
      { name: 'confirmation', label: 'Confirmation', kind: 'state' },
      { name: 'description', label: 'Description' },
    ],
    empty: 'There are no topics yet.',
  }),
  actions: [
    actionOf('updateContactTopics', {
      verb: 'set-topics',
      key: 's',
      summary: 'say which topics a contact wants',
      example: 'contacts set-topics ada@example.org --topic 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e32=opt_out',
      path: { contact: CONTACT },
      flags: {
        topics: {
          flag: 'topic',
          value: '<choice>',
          says: 'ID=opt_in or ID=opt_out',
          isRepeatable: true,
          syntax: 'topic',
          isRequired: true,
          place: 'line',
        },
      },
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
      tell: ({ topics: set }) => (set.length === 1 ? 'one topic' : `${set.length} topics`),
    }),
  ],
} satisfies Family;
