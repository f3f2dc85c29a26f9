import { buildFields, declareAction, declareFamily, declareList, type AnswerOf, type Field } from './family.ts';
import { grouped } from './field-value.ts';

type Summary = AnswerOf<'getDomainReportSummary'>;
type DmarcSource = Summary['dmarc']['sources'][number];
type TlsReporter = Summary['tls']['reporters'][number];

const percent = (part: number, whole: number): string =>
  whole === 0 ? '–' : `${Math.round((1000 * part) / whole) / 10} %`;

const counted = (count: number, one: string, many = `${one}s`): string =>
  `${grouped(count)} ${count === 1 ? one : many}`;

const notCounted = (count: number): string =>
  count === 1
    ? '1 more report does not count, because nothing proves who sent it.'
    : `${grouped(count)} more reports do not count, because nothing proves who sent them.`;

/** Describes the totals in sentences, before the tables. */
export function reportTotalsInWords(summary: Summary): string {
  const { start_date, end_date, address, reports, dmarc, tls } = summary;
  const { unauthenticated } = reports;
  const days = start_date === end_date ? start_date : `${start_date} to ${end_date}`;
  const lines = [
    `${days}: ${counted(reports.dmarc, 'DMARC report')}, ${counted(reports.tls, 'TLS report')}.`,
    ...(unauthenticated > 0 ? [notCounted(unauthenticated)] : []),
  ];
  if (reports.dmarc + reports.tls === 0)
    lines.push(`Reports have to be sent to ${address}; see the records of the domain.`);
  if (dmarc.messages > 0) {
    const { messages } = dmarc;
    lines.push(
      `${counted(messages, 'message')}: ${percent(dmarc.passed, messages)} passed DMARC (SPF ${percent(dmarc.spf_passed, messages)}, DKIM ${percent(dmarc.dkim_passed, messages)}); ${grouped(dmarc.quarantined)} quarantined, ${grouped(dmarc.rejected)} rejected.`,
    );
  }
  if (tls.sessions > 0) {
    lines.push(`${counted(tls.sessions, 'TLS session')}: ${grouped(tls.failed)} failed.`);
  }
  if (!summary.is_complete) {
    lines.push(
      'There are too many sources or reporters to add up each; the totals are complete, small ones may be missing.',
    );
  }
  return lines.join('\n');
}

/** Returns the columns for the addresses that send mail. */
export const sourceColumns = (): readonly Field<DmarcSource>[] => {
  const share = (of: 'passed' | 'spf_passed' | 'dkim_passed') => (source: DmarcSource) =>
    percent(source[of], source.messages);
  return buildFields<DmarcSource>({
    fields: {
      source_ip: { label: 'Source', kind: 'whole', value: ({ source_ip }) => source_ip ?? 'others' },
      is_own: {
        label: 'Yours',
        kind: 'state',
        either: ['yes', 'no'],
        tone: ({ is_own }) => (is_own ? 'good' : 'plain'),
      },
      messages: { kind: 'number' },
      passed: {
        label: 'DMARC',
        kind: 'number',
        value: share('passed'),
        tone: ({ passed, messages }) => (passed === messages ? 'good' : 'attention'),
      },
      spf_passed: { label: 'SPF', kind: 'number', value: share('spf_passed') },
      dkim_passed: { label: 'DKIM', kind: 'number', value: share('dkim_passed') },
      quarantined: { kind: 'number' },
      rejected: { kind: 'number' },
      from_domains: { label: 'From', kind: 'text' },
    },
    columns: [
      'source_ip',
      'is_own',
      'messages',
      'passed',
      'spf_passed',
      'dkim_passed',
      'quarantined',
      'rejected',
      'from_domains',
    ],
  });
};

const formatFailures = ({ failures }: TlsReporter): string =>
  failures
    .map(({ result_type, mx_host, sessions }) =>
      [`${grouped(sessions)}× ${result_type}`, ...(mx_host === null ? [] : [`at ${mx_host}`])].join(' '),
    )
    .join(', ');

/** Returns the columns for those that report TLS sessions. */
export const reporterColumns = (): readonly Field<TlsReporter>[] =>
  buildFields<TlsReporter>({
    fields: {
      organization: { label: 'TLS reporter', kind: 'name' },
      submitter: { label: 'Sent by', kind: 'name' },
      successful: { kind: 'number' },
      failed: { kind: 'number', tone: ({ failed }) => (failed > 0 ? 'bad' : 'plain') },
      failures: { kind: 'text', value: formatFailures },
    },
    columns: ['organization', 'submitter', 'successful', 'failed', 'failures'],
  });

const CONSOLE_ROWS = 15;

/** Describes the whole in lines, for where there are no tables. */
function summaryInWords(summary: Summary): string {
  const sources = summary.dmarc.sources.slice(0, CONSOLE_ROWS).map((source) => {
    const { source_ip: address, is_own: isOwn, messages, passed } = source;
    const whose = isOwn ? ' (yours)' : '';
    return `${address ?? 'others'}${whose}: ${counted(messages, 'message')}, ${percent(passed, messages)} passed DMARC`;
  });
  const reporters = summary.tls.reporters.slice(0, CONSOLE_ROWS).map((reporter) => {
    const failures = reporter.failed === 0 ? '' : `: ${formatFailures(reporter)}`;
    return `${reporter.organization} (${reporter.submitter}): ${counted(reporter.successful + reporter.failed, 'TLS session')}, ${grouped(reporter.failed)} failed${failures}`;
  });
  const blocks = [[reportTotalsInWords(summary)], sources, reporters].filter((block) => block.length > 0);
  return blocks.map((block) => block.join('\n')).join('\n\n');
}

/** Reports are of domains, and are spoken of with them. */
export const domainReports = declareFamily({
  summary: 'show what other mail servers report about a domain',
  noun: 'a report',
  screens: { list: 'reports' },
  list: declareList('listDomainReports', {
    fields: {
      type: { kind: 'whole' },
      organization: { kind: 'name' },
      submitter: { label: 'Sent by', kind: 'name' },
      authenticated: {
        label: 'Proven',
        kind: 'state',
        either: ['yes', 'no'],
        tone: ({ authenticated }) => (authenticated ? 'plain' : 'attention'),
      },
      begin_at: 'From',
      end_at: 'To',
      failed: { kind: 'number', tone: ({ failed }) => (failed > 0 ? 'attention' : 'plain') },
      policy_domain: { kind: 'name' },
      report_id: { kind: 'text' },
    },
    columns: ['id', 'type', 'organization', 'begin_at', 'total', 'failed', 'authenticated'],
    wide: ['submitter', 'end_at', 'passed', 'policy_domain', 'created_at', 'report_id'],
    empty: 'No report has arrived.',
  }),
  actions: [declareAction('getDomainReportSummary', { describe: summaryInWords })],
});
