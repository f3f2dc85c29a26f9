import { declareAction, currentAmong, declareList, withRemaining, type ItemOf } from './family.ts';

const IN_USE = {
  when: ({ status }: ItemOf<'listApiKeys'>): boolean => status !== 'revoked',
  says: 'only for a key that is not revoked',
};

export const apiKeys = withRemaining({
  command: 'keys',
  alias: 'api-keys',
  summary: 'create and revoke API keys',
  noun: 'a key',
  list: declareList('listApiKeys', {
    columns: [
      { name: 'id', label: 'Id', kind: 'id' },
      { name: 'name', label: 'Name', kind: 'name' },
      { name: 'key_prefix', label: 'Key', kind: 'whole', value: (key) => `${key.key_prefix}…` },
      { name: 'permission', label: 'Permission', kind: 'whole' },
      { name: 'status', label: 'Status', kind: 'state', tone: (key) => (key.status === 'active' ? 'plain' : 'bad') },
      { name: 'last_used_at', label: 'Last used', kind: 'time' },
      { name: 'created_at', label: 'Created', kind: 'time', shown: 'wide' },
      { name: 'domain_id', label: 'Domain', kind: 'id', shown: 'wide' },
      { name: 'last_used_request_log_id', label: 'Last request', kind: 'id', shown: 'wide' },
    ],
  }),
  actions: [
    declareAction('createApiKey', {
      describe: (made) => made.token,
      hint: () => ({ words: 'This is the only time the key is shown; keep it safe.' }),
      secret: 'API key',
    }),
    declareAction('updateApiKey', { current: currentAmong('listApiKeys'), done: 'Renamed', only: IN_USE }),
    declareAction('deleteApiKey', { done: 'Revoked', only: IN_USE }),
  ],
});
