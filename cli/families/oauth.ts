import { declareAction, declareList, withRemaining, type ItemOf } from './family.ts';

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
  const {
    read_only: isReadOnly,
    emails_per_day: emails,
    recipients,
    approval,
    approval_above: above,
    expires_at: end,
  } = limits;
  const words = [
    isReadOnly ? 'read only' : '',
    emails === null ? '' : `${emails} emails a day`,
    recipients === 'any' ? '' : 'own domains',
    approval === 'none'
      ? ''
      : `approval of ${approval}${approval === 'broadcasts' ? ` and above ${above} recipients a day` : ''}`,
    end === null ? '' : `until ${end}`,
  ];
  return words.filter((word) => word !== '').join(', ') || 'none besides its scopes';
}

const formatState = ({ revoked_reason: reason }: Grant): string =>
  reason === null ? 'live' : (REASONS[reason] ?? reason);

const ONLY_LIVE = {
  when: ({ revoked_at: at }: Grant): boolean => at === null,
  says: 'only for a grant that is live',
};

export const oauthGrants = withRemaining({
  alias: 'apps',
  summary: 'list, limit and revoke the access of apps',
  list: declareList('listOauthGrants', {
    fields: {
      'client.name': 'App',
      scopes: { join: ' ' },
      revoked_reason: {
        label: 'State',
        kind: 'state',
        value: formatState,
        tone: ({ revoked_reason: reason }) => (reason?.endsWith('_reuse') ? 'bad' : 'plain'),
      },
      created_at: 'Since',
      limits: { value: ({ limits }) => limitsInWords(limits) },
    },
    columns: ['id', 'client.name', 'scopes', 'revoked_reason', 'created_at'],
    wide: ['revoked_at', 'limits', 'client_id'],
    empty: 'No app has access.',
  }),
  actions: [
    declareAction('limitOauthGrant', {
      only: ONLY_LIVE,
      describe: ({ client, limits }) => `Limits of ${client.name}: ${limitsInWords(limits)}.`,
    }),
    declareAction('revokeOauthGrant', { only: ONLY_LIVE }),
  ],
});

type Client = ItemOf<'listOauthClients'>;

const isEnabled = ({ disabled_at: at }: Client): boolean => at === null;

export const oauthClients = withRemaining({
  summary: 'list, disable and enable the registered apps of the installation',
  isOperators: true,
  noun: 'a client',
  list: declareList('listOauthClients', {
    fields: {
      client_name: { kind: 'name' },
      redirect_uris: { label: 'Leads to', join: ' ' },
      live_grants: 'Grants',
      disabled_at: {
        label: 'State',
        kind: 'state',
        either: ['disabled', 'enabled'],
        tone: (client) => (isEnabled(client) ? 'plain' : 'bad'),
      },
      created_at: 'Since',
      client_uri: 'Page',
      used_at: 'First authorized',
      disabled_by: 'By',
      disabled_reason: 'Reason',
    },
    columns: ['id', 'client_name', 'redirect_uris', 'live_grants', 'disabled_at', 'created_at'],
    wide: ['client_id', 'client_uri', 'used_at', 'disabled_by', 'disabled_reason'],
    empty: 'No app has registered.',
  }),
  actions: [
    declareAction('disableOauthClient', {
      only: { when: isEnabled, says: 'only for an app that is enabled' },
      describe: ({ client_name: name }) => `${name} is disabled.`,
    }),
    declareAction('enableOauthClient', {
      only: { when: (client: Client) => !isEnabled(client), says: 'only for an app that is disabled' },
      describe: ({ client_name: name }) => `${name} is enabled; its earlier grants stay revoked.`,
    }),
  ],
});
