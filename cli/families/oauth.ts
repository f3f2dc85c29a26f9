import { actionOf, listOf, nameAmong, type Family, type ItemOf, type Key } from './family.ts';

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
      { name: 'client_id', label: 'Client', shown: 'wide' },
    ],
    empty: 'No app was let in.',
  }),
  actions: [
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
