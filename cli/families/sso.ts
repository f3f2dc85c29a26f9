import type { AnswerOf } from '../client/index.ts';
import {
  actionOf,
  currentIn,
  detailOf,
  nameIn,
  partsOf,
  type Family,
  type Flag,
  type Key,
  type Tone,
} from './family.ts';

type SsoConnection = AnswerOf<'getSso'>;
type SsoDomain = AnswerOf<'addSsoDomain'>;

const DOMAIN: Key = { word: 'domain', says: 'its name' };

const TONES: Record<SsoConnection['status'], Tone> = { no_domain: 'attention', untested: 'attention', active: 'good' };

const IN_WORDS: Record<SsoConnection['status'], string> = {
  no_domain: 'nobody signs in through it before a domain is proven',
  untested: 'it waits for the first sign-in',
  active: 'people sign in through it',
};

const tellConnection = ({ issuer, status, enforced, redirect_uri: redirect }: SsoConnection): string =>
  [
    `Single sign-on is by ${issuer}: ${IN_WORDS[status]}${enforced ? ', and in no other way' : ''}.`,
    ...(status === 'active' ? [] : [`The client there needs the redirect address ${redirect}`]),
  ].join('\n');

const nextOf = ({ status, redirect_uri: redirect }: SsoConnection) => {
  if (status === 'no_domain')
    return { words: 'Say whose addresses sign in with', command: ['addSsoDomain', 'DOMAIN'] } as const;
  return status === 'untested' ? { words: `Sign in once at ${new URL('/auth/sso/start', redirect).href}` } : undefined;
};

const domains = partsOf({
  label: 'Domains',
  of: (connection: SsoConnection) => connection.domains,
  columns: [
    { name: 'domain', label: 'Domain', kind: 'name' },
    {
      name: 'status',
      label: 'Status',
      kind: 'state',
      tone: ({ status }) => (status === 'verified' ? 'good' : 'attention'),
    },
    { name: 'record', label: 'TXT record at', kind: 'whole', value: ({ record }) => record.name },
    { name: 'verified_at', label: 'Proven', kind: 'time' },
    { name: 'diagnosis', label: 'What is wrong', kind: 'long' },
    { name: 'record.value', label: 'Value', kind: 'long' },
  ],
  copy: ({ record }: SsoDomain) => record.value,
});

const set = actionOf('putSso', {
  verb: 'set',
  key: 'u',
  summary: 'connect the team to an OpenID Connect provider, or change the connection',
  description:
    'Changes what is named and keeps the rest. Another issuer or client is another connection, with a secret of its own: the people that the former one knew are forgotten, and their sessions end. Enforcing takes a proven domain, one sign-in that has succeeded, and an owner with a password who is exempt.',
  example: 'sso set --issuer https://id.example.com --client-id rasket --client-secret-file client-secret.txt',
  flags: {
    issuer: { value: '<url>', says: 'the provider, letter by letter as it names itself' },
    client_id: { value: '<id>', says: 'the client that is registered there for this service' },
    client_secret: {
      value: '<secret>',
      says: 'the secret of that client, which is shown nowhere again',
      isSecret: true,
      place: 'form',
    },
    enforced: {
      says: 'let nobody in with a password but who is exempt',
      no: 'let people sign in with passwords as well',
      isBoolean: true,
    },
    default_role: {
      value: '<role>',
      says: 'what people are who come in by it: viewer or member (at first: member)',
      choices: ['viewer', 'member'],
    },
  } satisfies Record<string, Flag>,
  // The connection itself is not there at first; the team always is.
  current: currentIn('getTeam', ({ sso: connection }) => connection ?? {}),
  tell: tellConnection,
  hint: nextOf,
});

/** The single sign-on of the team that a session works in. */
export const sso = {
  command: 'sso',
  summary: 'sign-in of your team through its own identity provider',
  noun: 'single sign-on',
  isPeoples: true,
  get: detailOf('getSso', {
    summary: 'show the single sign-on of your team, and its domains',
    example: 'sso get',
    fields: [
      { name: 'status', label: 'Status', kind: 'state', tone: ({ status }) => TONES[status] },
      { name: 'issuer', label: 'Issuer', kind: 'name' },
      { name: 'client_id', label: 'Client', kind: 'name' },
      { name: 'enforced', label: 'Passwords', value: ({ enforced }) => (enforced ? 'for who is exempt' : 'as well') },
      { name: 'default_role', label: 'New people', kind: 'whole' },
      { name: 'redirect_uri', label: 'Redirect address', kind: 'whole' },
      { name: 'domains', label: 'Domains', shown: 'asked' },
      { name: 'tested_at', label: 'First sign-in', kind: 'time' },
      { name: 'created_at', label: 'Created', kind: 'time' },
    ],
    parts: domains,
    hint: nextOf,
  }),
  actions: [
    set,
    actionOf('addSsoDomain', {
      verb: 'add-domain',
      key: 'a',
      summary: 'let addresses of a domain sign in through the provider',
      description: 'Prints the TXT record that proves that the domain is yours. A subdomain is a domain of its own.',
      example: 'sso add-domain example.com',
      flags: { domain: { value: '<domain>', says: 'what stands behind the @', isWord: true, isRequired: true } },
      tell: ({ domain, status, record }) =>
        status === 'verified' ? `${domain} is proven.` : `Publish this TXT record:\n${record.name}\n${record.value}`,
      copy: ({ record }) => record.value,
      hint: ({ domain, status }) =>
        status === 'verified' ? undefined : { words: 'Then prove it with', command: ['verifySsoDomain', domain] },
    }),
    actionOf('verifySsoDomain', {
      verb: 'verify-domain',
      key: 'v',
      summary: 'look for the record of a domain in DNS now',
      example: 'sso verify-domain example.com',
      path: { domain: DOMAIN },
      tell: ({ domain, status, diagnosis }) =>
        status === 'verified' ? `${domain} is proven.` : `${domain} is not proven: ${diagnosis ?? 'DNS was not asked'}`,
    }),
    actionOf('removeSsoDomain', {
      verb: 'remove-domain',
      key: 'm',
      summary: 'let addresses of a domain sign in through the provider no more',
      description: 'Sessions go on. The last proven domain stays while single sign-on is enforced.',
      example: 'sso remove-domain example.com',
      path: { domain: DOMAIN },
      tell: ({ domain }) => `Addresses at ${domain} do not sign in through the provider any more.`,
    }),
    actionOf('deleteSso', {
      verb: 'remove',
      key: 'd',
      summary: 'remove single sign-on from your team',
      example: 'sso remove --yes',
      tell: () => 'The team has no single sign-on any more.',
      destroys: {
        says: 'remove the connection, its domains and whom the provider knew; sessions that began through it end at once',
        name: nameIn('getSso', ({ issuer }) => issuer),
      },
    }),
  ],
} satisfies Family;
