import { declareAction, declareList, readAmong, withRemaining, type ItemOf } from './family.ts';

const IN_USE = {
  when: ({ status }: ItemOf<'listApiKeys'>): boolean => status !== 'revoked',
  says: 'only for a key that is not revoked',
};

export const apiKeys = withRemaining({
  alias: 'api-keys',
  summary: 'create and revoke API keys',
  list: declareList('listApiKeys', {
    fields: {
      key_prefix: { label: 'Key', kind: 'whole', value: (key) => `${key.key_prefix}…` },
      permission: { kind: 'whole' },
      status: { tone: ({ status }) => (status === 'active' ? 'plain' : 'bad') },
      last_used_request_log_id: 'Last request',
    },
    columns: ['id', 'name', 'key_prefix', 'permission', 'status', 'last_used_at'],
    wide: ['created_at', 'domain_id', 'last_used_request_log_id'],
  }),
  actions: [
    declareAction('createApiKey', {
      describe: (made) => made.token,
      hint: () => ({ words: 'This is the only time the key is shown; keep it safe.' }),
      secret: 'API key',
    }),
    declareAction('updateApiKey', { current: readAmong('listApiKeys', (key) => key), done: 'Renamed', only: IN_USE }),
    declareAction('deleteApiKey', { only: IN_USE }),
  ],
});
