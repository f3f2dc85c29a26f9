import { declareAction, declareReport, withRemaining, type AnswerOf } from './family.ts';
import { grouped } from './field-value.ts';

type Certificate = AnswerOf<'listCertificates'>['certificates'][number];

const SOURCES: Record<AnswerOf<'listCertificates'>['source'], string> = {
  files: 'The ports use the certificate in tls.certificate_file; none is requested from an authority.',
  authority: '',
  none: 'No certificate is requested (acme.directory is empty): the ports use a self-signed one.',
};

export const certificates = withRemaining({
  summary: 'manage TLS certificates of the server',
  isOperators: true,
  screens: { report: 'certificates' },
  noun: 'a certificate',
  report: declareReport<'listCertificates', Certificate>('listCertificates', {
    rows: ({ certificates: all }) => all,
    fields: {
      status: { tone: { awaited: 'plain', issued: 'good', failing: 'attention', expired: 'bad' } },
      last_error: { label: 'Last error', kind: 'long' },
      names: { join: ' ' },
      starts_at: 'Begins',
      failing_since: { label: 'Since', kind: 'time' },
    },
    columns: ['name', 'status', 'ends_at', 'next_try_at', 'last_error'],
    wide: ['id', 'kind', 'names', 'starts_at'],
    asked: ['failing_since'],
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
