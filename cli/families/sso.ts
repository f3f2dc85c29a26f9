import type { AnswerOf } from '../client/index.ts';
import {
  declareAction,
  currentIn,
  declareDetail,
  nameIn,
  declareParts,
  withRemaining,
  type Field,
  type Tone,
} from './family.ts';

type SsoConnection = AnswerOf<'getSso'>;
type SsoDomain = AnswerOf<'addSsoDomain'>;

const TONES: Record<SsoConnection['status'], Tone> = { no_domain: 'attention', untested: 'attention', active: 'good' };

const IN_WORDS: Record<SsoConnection['status'], string> = {
  no_domain: 'nobody can sign in through it before a domain is verified',
  untested: 'waiting for the first sign-in',
  active: 'people sign in through it',
};

const describeConnection = ({ issuer, status, enforced, redirect_uri: redirect }: SsoConnection): string =>
  [
    `Single sign-on through ${issuer}: ${IN_WORDS[status]}${enforced ? ', and it is required' : ''}.`,
    ...(status === 'active' ? [] : [`Register this redirect address with the provider: ${redirect}`]),
  ].join('\n');

const adviseNext = ({ status, redirect_uri: redirect }: SsoConnection) => {
  if (status === 'no_domain')
    return { words: 'Add the domain of your addresses with', command: ['addSsoDomain', 'DOMAIN'] } as const;
  return status === 'untested' ? { words: `Sign in once at ${new URL('/auth/sso/start', redirect).href}` } : undefined;
};

/** The DNS value to publish for each domain, last, so that it can be copied. */
export const domainColumns: readonly Field<SsoDomain>[] = [
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
];

const domains = declareParts({
  label: 'Domains',
  of: (connection: SsoConnection) => connection.domains,
  columns: domainColumns,
  copy: ({ record }: SsoDomain) => record.value,
});

const set = declareAction('putSso', {
  // The connection itself is not there at first; the team always is.
  current: currentIn('getTeam', ({ sso: connection }) => connection ?? {}),
  describe: describeConnection,
  hint: adviseNext,
});

/** The single sign-on of the team that a session works in. */
export const sso = withRemaining({
  command: 'sso',
  summary: 'manage single sign-on through the identity provider of your team',
  noun: 'single sign-on',
  isPeoples: true,
  get: declareDetail('getSso', {
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
    hint: adviseNext,
  }),
  actions: [
    set,
    declareAction('addSsoDomain', {
      describe: ({ domain, status, record }) =>
        status === 'verified' ? `${domain} is verified.` : `Publish this TXT record:\n${record.name}\n${record.value}`,
      copy: ({ record }) => record.value,
      hint: ({ domain, status }) =>
        status === 'verified' ? undefined : { words: 'Then verify it with', command: ['verifySsoDomain', domain] },
    }),
    declareAction('verifySsoDomain', {
      describe: ({ domain, status, diagnosis }) =>
        status === 'verified'
          ? `${domain} is verified.`
          : `${domain} is not verified: ${diagnosis ?? 'DNS was not queried'}`,
    }),
    declareAction('removeSsoDomain', {
      describe: ({ domain }) => `Addresses at ${domain} no longer sign in through the provider.`,
    }),
    declareAction('deleteSso', {
      describe: () => 'The team no longer has single sign-on.',
      destroys: { name: nameIn('getSso', ({ issuer }) => issuer) },
    }),
  ],
});
