import { declareAction, declareList, wide, withRemaining, type ItemOf } from './family.ts';

const REASONS: Readonly<Record<string, string>> = {
  user: 'revoked by the team',
  client: 'the app was deleted',
  code_reuse: 'a code was used twice',
  refresh_reuse: 'a refresh token was used twice',
  membership: 'the person left the team',
  operator: 'revoked by the operator',
};

type Grant = ItemOf<'listOauthGrants'>;

/** Lists the limits that are set, by their names in the contract. */
function limitsInWords(limits: Grant['limits']): string {
  const { read_only: isReadOnly, emails_per_day: emails, recipients, approval, expires_at: end } = limits;
  const words = [
    isReadOnly ? 'read only' : '',
    emails === null ? '' : `${emails} emails a day`,
    recipients === 'any' ? '' : 'own domains',
    approval === 'none' ? '' : `approval of ${approval}`,
    end === null ? '' : `until ${end}`,
  ];
  return words.filter((word) => word !== '').join(', ') || 'none besides its scopes';
}

const formatState = ({ revoked_reason: reason }: Grant): string =>
  reason === null ? 'live' : (REASONS[reason] ?? reason);

export const oauthGrants = withRemaining({
  command: 'oauth-grants',
  alias: 'apps',
  summary: 'list, limit and revoke the access of apps',
  noun: 'a grant',
  list: declareList('listOauthGrants', {
    columns: [
      { name: 'id', label: 'Id', kind: 'id' },
      { name: 'client.name', label: 'App', kind: 'name', value: ({ client }) => client.name },
      { name: 'scopes', label: 'Scopes', value: ({ scopes }) => scopes.join(' ') },
      {
        name: 'revoked_reason',
        label: 'State',
        kind: 'state',
        value: formatState,
        tone: ({ revoked_reason: reason }) => (reason?.endsWith('_reuse') ? 'bad' : 'plain'),
      },
      { name: 'created_at', label: 'Since', kind: 'time' },
      { name: 'revoked_at', label: 'Revoked', kind: 'time', shown: 'wide' },
      { name: 'limits', label: 'Limits', value: ({ limits }) => limitsInWords(limits), shown: 'wide' },
      { name: 'client_id', label: 'Client', shown: 'wide' },
    ],
    empty: 'No app has access.',
  }),
  actions: [
    declareAction('limitOauthGrant', {
      only: { when: ({ revoked_at: at }: Grant): boolean => at === null, says: 'only for a grant that is live' },
      describe: ({ client, limits }) => `Limits of ${client.name}: ${limitsInWords(limits)}.`,
    }),
    declareAction('revokeOauthGrant', {
      done: 'Revoked',
      only: { when: ({ revoked_at: at }: Grant): boolean => at === null, says: 'only for a grant that is live' },
    }),
  ],
});

type Client = ItemOf<'listOauthClients'>;

export const oauthClients = withRemaining({
  command: 'oauth-clients',
  summary: 'list, disable and enable the registered apps of the installation',
  isOperators: true,
  noun: 'a client',
  list: declareList('listOauthClients', {
    columns: [
      { name: 'id', label: 'Id', kind: 'id' },
      { name: 'client_name', label: 'App', kind: 'name' },
      { name: 'redirect_uris', label: 'Leads to', value: ({ redirect_uris: all }) => all.join(' ') },
      { name: 'live_grants', label: 'Grants', kind: 'number' },
      {
        name: 'disabled_at',
        label: 'State',
        kind: 'state',
        value: ({ disabled_at: at }) => (at === null ? 'enabled' : 'disabled'),
        tone: ({ disabled_at: at }) => (at === null ? 'plain' : 'bad'),
      },
      { name: 'created_at', label: 'Since', kind: 'time' },
      ...wide<Client>(
        { name: 'client_id', label: 'Client' },
        { name: 'client_uri', label: 'Page' },
        { name: 'used_at', label: 'First authorized', kind: 'time' },
        { name: 'disabled_by', label: 'By' },
        { name: 'disabled_reason', label: 'Reason' },
      ),
    ],
    empty: 'No app has registered.',
  }),
  actions: [
    declareAction('disableOauthClient', {
      only: { when: ({ disabled_at: at }: Client): boolean => at === null, says: 'only for an app that is enabled' },
      describe: ({ client_name: name }) => `${name} is disabled.`,
    }),
    declareAction('enableOauthClient', {
      only: { when: ({ disabled_at: at }: Client): boolean => at !== null, says: 'only for an app that is disabled' },
      describe: ({ client_name: name }) => `${name} is enabled; its earlier grants stay revoked.`,
    }),
  ],
});
