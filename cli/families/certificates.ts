import type { AnswerOf } from '../client/index.ts';
import type { Field, Tone } from './family.ts';
import { declareAction, asked, declareReport, wide, withRemaining } from './family.ts';
import { grouped } from './field-value.ts';

type Certificate = AnswerOf<'listCertificates'>['certificates'][number];

const TONES: Record<Certificate['status'], Tone> = {
  awaited: 'plain',
  issued: 'good',
  failing: 'attention',
  expired: 'bad',
};

const columns: readonly Field<Certificate>[] = [
  { name: 'name', label: 'Name', kind: 'name' },
  { name: 'status', label: 'Status', kind: 'state', tone: ({ status }) => TONES[status] },
  { name: 'ends_at', label: 'Ends', kind: 'time' },
  { name: 'next_try_at', label: 'Next try', kind: 'time' },
  { name: 'last_error', label: 'Why not', kind: 'long' },
  ...wide<Certificate>(
    { name: 'id', label: 'Id', kind: 'id' },
    { name: 'kind', label: 'Kind' },
    { name: 'names', label: 'Names', value: ({ names }) => names.join(' ') },
    { name: 'starts_at', label: 'Begins', kind: 'time' },
  ),
  ...asked<Certificate>({ name: 'failing_since', label: 'Since', kind: 'time' }),
];

const SOURCES: Record<AnswerOf<'listCertificates'>['source'], string> = {
  files: 'The ports use the certificate in tls.certificate_file; none is requested from an authority.',
  authority: '',
  none: 'No certificate is requested (acme.directory is empty): the ports use a self-signed one.',
};

export const certificates = withRemaining({
  command: 'tls',
  summary: 'manage TLS certificates of the server',
  isOperators: true,
  screens: { report: 'certificates' },
  noun: 'a certificate',
  report: declareReport('listCertificates', {
    rows: ({ certificates: all }) => all,
    columns,
    given: ({ name }) => ({ name }),
    describe: ({ certificates: all, source }) =>
      [
        SOURCES[source],
        source === 'authority' && all.length === 0
          ? 'No certificate has been requested yet; the scheduler checks every minute.'
          : '',
      ]
        .filter(Boolean)
        .join(' '),
  }),
  actions: [
    declareAction('renewCertificates', {
      describe: ({ certificates: count }) =>
        `${grouped(count)} ${count === 1 ? 'certificate is' : 'certificates are'} requested within a minute.`,
      hint: () => ({ words: 'See the result with', command: ['listCertificates'] }),
    }),
  ],
});
