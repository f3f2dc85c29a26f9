import { actionOf, listOf, nameAmong, wide, type Family, type ItemOf, type Key } from './family.ts';

const GRANT: Key = { word: 'grant', says: 'its id, as oauth-grants list shows it' };

const REASONS: Readonly<Record<string, string>> = {
  user: 'revoked by the team',
  client: 'the app is gone',
  code_reuse: 'a code came twice',
  refresh_reuse: 'a refresh token came twice',
  membership: 'its person left the team',
  operator: 'ended by the operator',
};

type Grant = ItemOf<'listOauthGrants'>;

/** Each as the contract names it, with what is set alone. */
function limitsInWords(limits: Grant['limits']): string {
  const { read_only: isReadOnly, emails_per_day: emails, recipients, approval, expires_at: end } = limits;
  const words = [
    isReadOnly ? 'read only' : '',
    emails === null ? '' : `${emails} emails a day`,
    recipients === 'any' ? '' : 'own domains',
    approval === 'none' ? '' : `approval of ${approval}`,
    end === null ? '' : `until ${end}`,
  ];
  return words.filter((word) => word !== '').join(', ') || 'its scopes alone';
}

const stateOf = ({ revoked_reason: reason }: Grant): string => (reason === null ? 'live' : (REASONS[reason] ?? reason));

export const oauthGrants = {
  command: 'oauth-grants',
  alias: 'apps',
  summary: 'apps that people let act for your team',
  noun: 'a grant',
  list: listOf('listOauthGrants', {
    summary: 'list what apps were let in to do, newest first',
    description:
      'Shows live and revoked grants. An app gets one when a person of the team allows it in a browser; no key does that. A grant also ends with the membership of that person.',
    example: 'oauth-grants list',
    columns: [
      { name: 'id', label: 'Id', kind: 'id' },
      { name: 'client.name', label: 'App', kind: 'name', value: ({ client }) => client.name },
      { name: 'scopes', label: 'Scopes', value: ({ scopes }) => scopes.join(' ') },
      {
        name: 'revoked_reason',
        label: 'State',
        kind: 'state',
        value: stateOf,
        tone: ({ revoked_reason: reason }) => (reason?.endsWith('_reuse') ? 'bad' : 'plain'),
      },
      { name: 'created_at', label: 'Since', kind: 'time' },
      { name: 'revoked_at', label: 'Revoked', kind: 'time', shown: 'wide' },
      { name: 'limits', label: 'Limits', value: ({ limits }) => limitsInWords(limits), shown: 'wide' },
      { name: 'client_id', label: 'Client', shown: 'wide' },
    ],
    empty: 'No app was let in.',
  }),
  actions: [
    actionOf('limitOauthGrant', {
      verb: 'limit',
      key: 'm',
      summary: 'keep an app to less than it was let in to do, from its next call on',
      description:
        'What goes beyond a limit is refused with its name; what needs approval waits until a person decides. With own domains alone or a number of emails, what sends to others than a call names is refused as well: broadcasts, events, changes of contacts and automations.',
      example: 'oauth-grants limit 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e91 --emails-per-day 50 --approval broadcasts',
      path: { oauth_grant_id: GRANT },
      flags: {
        read_only: { says: 'refuse whatever does not only read', no: 'let it change and send again', isBoolean: true },
        emails_per_day: {
          value: '<count>',
          says: 'so many emails a day (UTC), one for each recipient',
          isNumber: true,
        },
        recipients: {
          value: '<whom>',
          says: 'any, or own_domains: the verified domains of the team and the simulator',
          choices: ['any', 'own_domains'],
        },
        approval: {
          value: '<what>',
          says: 'what a person approves first: none, broadcasts, sends (all mail, and what may start some) or changes',
          choices: ['none', 'broadcasts', 'sends', 'changes'],
        },
        expires_at: { value: '<time>', says: 'when it ends by itself, as 2026-12-31T18:00:00Z' },
      },
      clears: ['emails_per_day', 'expires_at'],
      only: { when: ({ revoked_at: at }: Grant): boolean => at === null, says: 'only a grant that is live' },
      tell: ({ client, limits }) => `${client.name} is kept to: ${limitsInWords(limits)}.`,
    }),
    actionOf('revokeOauthGrant', {
      verb: 'revoke',
      key: 'e',
      summary: 'end what an app was let in to do, at once',
      example: 'oauth-grants revoke 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e91',
      path: { oauth_grant_id: GRANT },
      done: 'Revoked',
      only: { when: ({ revoked_at: at }: Grant): boolean => at === null, says: 'only a grant that is live' },
      destroys: {
        says: 'end every token of this grant at once; the app has to ask again',
        name: nameAmong('listOauthGrants', (grant) => grant.client.name),
      },
    }),
  ],
} satisfies Family;

type Client = ItemOf<'listOauthClients'>;

const CLIENT: Key = { word: 'client', says: 'its id, as oauth-clients list shows it' };

export const oauthClients = {
  command: 'oauth-clients',
  summary: 'apps that have registered, of the whole installation: see them, and shut one out',
  isOperators: true,
  noun: 'a client',
  list: listOf('listOauthClients', {
    summary: 'list registered apps, newest first',
    description:
      'Shows what apps say about themselves, and how many live grants each has. All `oauth-clients` commands need the token of an operator, or root on the machine of the server.',
    example: 'oauth-clients list --search newsletter',
    filters: {
      search: { value: '<text>', says: 'only where a name, client id or redirect address contains this' },
      state: { value: '<state>', says: 'only what is enabled or disabled', choices: ['enabled', 'disabled'] },
    },
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
        { name: 'used_at', label: 'First let in', kind: 'time' },
        { name: 'disabled_by', label: 'By' },
        { name: 'disabled_reason', label: 'Reason' },
      ),
    ],
    empty: 'No app has registered.',
  }),
  actions: [
    actionOf('disableOauthClient', {
      verb: 'disable',
      key: 'd',
      summary: 'shut an app out of every team, at once',
      description:
        'Ends its tokens and grants in every team. People whom it sends here are told so, and not sent back to it.',
      example: "oauth-clients disable 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e95 --reason 'Pretends to be another app'",
      path: { oauth_client_id: CLIENT },
      flags: { reason: { value: '<text>', says: 'why, on one line', isRequired: true } },
      only: { when: ({ disabled_at: at }: Client): boolean => at === null, says: 'only one that is enabled' },
      tell: ({ client_name: name }) => `${name} is disabled.`,
      destroys: {
        says: 'end what this app may do in every team; people have to let it in again once it is enabled',
        name: nameAmong('listOauthClients', (client) => client.client_name),
      },
    }),
    actionOf('enableOauthClient', {
      verb: 'enable',
      key: 'e',
      summary: 'let people let an app in again',
      example: 'oauth-clients enable 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e95',
      path: { oauth_client_id: CLIENT },
      only: { when: ({ disabled_at: at }: Client): boolean => at !== null, says: 'only one that is disabled' },
      tell: ({ client_name: name }) => `${name} is enabled; what it was let in to do has ended.`,
    }),
  ],
} satisfies Family;
