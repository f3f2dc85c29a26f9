import { declareAction, declareDetail, declareList, withRemaining, type FieldsOf } from './family.ts';

const fields: FieldsOf<'listForms'> = {
  enabled: { either: ['yes', 'no'] },
  proof_of_work: { either: ['yes', 'no'] },
  segment_ids: { kind: 'name', join: ', ' },
  allowed_origins: { kind: 'name', join: ', ' },
};
const columns = ['id', 'name', 'enabled', 'topic_id', 'segment_ids', 'from', 'url', 'created_at'] as const;

export const forms = withRemaining({
  summary: 'manage public forms with which people sign up',
  list: declareList('listForms', {
    fields,
    columns,
    asked: ['confirmation_template_id', 'redirect_url', 'confirmed_url', 'allowed_origins', 'proof_of_work'],
    empty: 'There are no forms yet.',
  }),
  get: declareDetail('getForm', {
    fields,
    columns: [
      'id',
      'name',
      'enabled',
      'topic_id',
      'segment_ids',
      'from',
      'confirmation_template_id',
      'redirect_url',
      'confirmed_url',
      'allowed_origins',
      'proof_of_work',
      'url',
      'created_at',
    ],
  }),
  actions: [
    declareAction('getFormSnippet', { print: ({ html }) => html.trimEnd(), describe: ({ html }) => html.trimEnd() }),
  ],
});
