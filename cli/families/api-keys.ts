import { actionOf, currentAmong, listOf, nameAmong, type Family, type ItemOf, type Key } from './family.ts';

const KEY: Key = {
  word: 'key',
  says: 'its id or name, not the key itself',
};

const PERMISSIONS = ['full_access', 'sending_access'];

const IN_USE = {
  when: ({ status }: ItemOf<'listApiKeys'>): boolean => status !== 'revoked',
  says: 'only a key that is not revoked yet',
};

export const apiKeys = {
  command: 'keys',
  alias: 'api-keys',
  summary: 'issue and revoke the keys that reach the API',
  noun: 'a key',
  list: listOf('listApiKeys', {
    summary: 'list keys, newest first',
    example: 'keys list --status all',
    filters: {
      status: {
        value: '<status>',
        says: 'active, revoked or all (default: active)',
        choices: ['active', 'revoked', 'all'],
      },
      search: { value: '<text>', says: 'only those whose name contains this' },
      permission: { value: '<permission>', says: 'only those with this permission', choices: PERMISSIONS },
    },
    columns: [
      { name: 'id', label: 'Id', kind: 'id' },
      { name: 'name', label: 'Name', kind: 'name' },
      { name: 'key_prefix', label: 'Key', kind: 'whole', value: (key) => `${key.key_prefix}…` },
      { name: 'permission', label: 'Permission', kind: 'whole' },
      {
        name: 'status',
        label: 'Status',
        kind: 'state',
        tone: (key) => (key.status === 'active' ? 'plain' : 'bad'),
      },
      { name: 'last_used_at', label: 'Last used', kind: 'time' },
      { name: 'created_at', label: 'Created', kind: 'time', shown: 'wide' },
      { name: 'domain_id', label: 'Domain', kind: 'id', shown: 'wide' },
      { name: 'last_used_request_log_id', label: 'Last request', kind: 'id', shown: 'wide' },
    ],
    empty: 'There are no keys yet.',
  }),
  actions: [
    actionOf('createApiKey', {
      verb: 'create',
      key: 'c',
      summary: 'create a key, which is printed once',
      example: "keys create 'Billing service' --permission sending_access",
      flags: {
        name: { value: '<name>', says: 'what people call it', isWord: true, isRequired: true },
        permission: {
          value: '<permission>',
          says: 'full_access or sending_access (default: full_access)',
          choices: PERMISSIONS,
        },
        domain_id: {
          flag: 'domain',
          value: '<domain>',
          says: 'pins a sending_access key to this domain, by id or name',
        },
      },
      tell: (made) => made.token,
      hint: () => ({ words: 'This is the only time the key is shown; keep it safe.' }),
      secret: 'API key',
    }),
    actionOf('updateApiKey', {
      verb: 'update',
      key: 'u',
      summary: 'rename a key',
      example: "keys update 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e02 --name 'Billing (old)'",
      path: { api_key_id: KEY },
      flags: { name: { value: '<name>', says: 'its new name', isRequired: true } },
      current: currentAmong('listApiKeys'),
      done: 'Renamed',
      only: IN_USE,
    }),
    actionOf('deleteApiKey', {
      verb: 'revoke',
      key: 'e',
      summary: 'revoke a key, at once and for good',
      example: 'keys revoke 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e02',
      path: { api_key_id: KEY },
      done: 'Revoked',
      only: IN_USE,
      destroys: {
        says: 'revoke the key at once and for good; programs that use it are refused from then on',
        name: nameAmong('listApiKeys', (key) => key.name),
      },
    }),
  ],
} satisfies Family;
