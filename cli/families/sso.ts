import type { Columns } from './columns.ts';
import { buildFields, declareAction, declareDetail, declareParts, readIn, withRemaining } from './family.ts';
import type { AnswerOf, Field } from './family.ts';

type SsoConnection = AnswerOf<'getSso'>;
type SsoDomain = AnswerOf<'addSsoDomain'>;

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
const domains: Columns<SsoDomain> = {
  fields: {
    domain: { kind: 'name' },
    status: { tone: ({ status }) => (status === 'verified' ? 'good' : 'attention') },
    record: { label: 'TXT record at', kind: 'whole', value: ({ record }) => record.name },
    verified_at: 'Proven',
    diagnosis: 'What is wrong',
  },
  columns: ['domain', 'status', 'record', 'verified_at', 'diagnosis', 'record.value'],
};
export const domainColumns: readonly Field<SsoDomain>[] = buildFields(domains);

/** The single sign-on of the team that a session works in. */
export const sso = withRemaining({
  summary: 'manage single sign-on through the identity provider of your team',
  noun: 'single sign-on',
  isPeoples: true,
  get: declareDetail('getSso', {
    fields: {
      status: { tone: { no_domain: 'attention', untested: 'attention', active: 'good' } },
      issuer: { kind: 'name' },
      client_id: { label: 'Client', kind: 'name' },
      enforced: { label: 'Passwords', either: ['for who is exempt', 'as well'] },
      default_role: { label: 'New people', kind: 'whole' },
      redirect_uri: { label: 'Redirect address', kind: 'whole' },
      backchannel_logout_uri: { label: 'Logout address', kind: 'whole' },
      domains: { shown: 'asked' },
      tested_at: 'First sign-in',
      failing_since: { label: 'Failing since', kind: 'time', tone: () => 'bad' },
      'last_failure.at': { label: 'Last failure', kind: 'time' },
      'last_failure.reason': { label: 'Its reason', kind: 'whole' },
    },
    columns: [
      'status',
      'issuer',
      'client_id',
      'enforced',
      'default_role',
      'redirect_uri',
      'backchannel_logout_uri',
      'domains',
      'tested_at',
      'failing_since',
      'last_failure.at',
      'last_failure.reason',
      'created_at',
    ],
    parts: declareParts({
      label: 'Domains',
      of: (connection: SsoConnection) => connection.domains,
      ...domains,
      copy: ({ record }: SsoDomain) => record.value,
    }),
    hint: adviseNext,
  }),
  actions: [
    declareAction('putSso', {
      // The connection itself is not there at first; the team always is.
      current: readIn('getTeam', ({ sso: connection }) => connection ?? {}),
      describe: describeConnection,
      hint: adviseNext,
    }),
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
      destroys: { name: readIn('getSso', ({ issuer }) => issuer) },
    }),
  ],
});
