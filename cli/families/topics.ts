import { declareAction, declareDetail, declareFamily, declareList, linesIn, withRemaining } from './family.ts';
import type { FieldsOf } from './family.ts';

const fields: FieldsOf<'listTopics'> = {
  default_subscription: { label: 'Default', kind: 'state' },
  visibility: { kind: 'state' },
  confirmation: { kind: 'state' },
  quiet_hours: {
    label: 'Quiet hours',
    value: ({ quiet_hours: hours }) => (hours ? `${hours.from} to ${hours.to}` : ''),
  },
};
const columns = [
  'id',
  'name',
  'default_subscription',
  'visibility',
  'confirmation',
  'confirmation_template_id',
  'quiet_hours',
  'description',
  'created_at',
] as const;

const CHOICES = ['opt_in', 'opt_out'] as const;

export const topics = withRemaining({
  summary: 'manage the topics that contacts can subscribe to',
  list: declareList('listTopics', { fields, columns }),
  get: declareDetail('getTopic', { fields, columns }),
});

export const contactTopics = declareFamily({
  noun: 'a topic',
  list: declareList('listContactTopics', {
    fields: { subscription: { kind: 'state' }, confirmation: { kind: 'state' } },
    columns: ['id', 'name', 'subscription', 'confirmation', 'description'],
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
});
