import { findSeverity, type Finding } from '../../platform/finding.ts';
import { escapeHtml } from '../../protocol/safe-html/index.ts';
import type { Level, Rates } from '../../mail/reputation/index.ts';

/** The verdict on the mail of one source to one provider. */
export interface SummaryEntry {
  source: string;
  /** The title of the provider. */
  provider: string;
  accepted: number;
  deferred: number;
  bounced: number;
  complained: number;
  rates: Rates;
  level: Level;
  reason: string;
  /** The level of the day before; undefined if there was no mail. */
  before: Level | undefined;
}

/** The progress of the warm-up of a source at a provider. */
export interface SummaryWarmUp {
  source: string;
  provider: string;
  day: number;
  days: number;
  isPaused: boolean;
}

export interface Summary {
  host: string;
  /** The day that it is about, such as 2026-11-29. */
  date: string;
  /** The entries with most mail come first. */
  entries: readonly SummaryEntry[];
  /** There are entries with less mail. */
  isCut: boolean;
  findings: readonly Finding[];
  warmUps: readonly SummaryWarmUp[];
  /** Warm-ups that have sent nothing yet. */
  idleWarmUps: readonly string[];
}

/** A heading with lines below it. */
interface Section {
  title: string;
  lines: readonly string[];
}

const LEVELS: readonly { level: Level; title: string }[] = [
  { level: 'bad', title: 'Bad' },
  { level: 'watch', title: 'Watch' },
  { level: 'good', title: 'Good' },
  { level: 'unknown', title: 'Too little mail to judge' },
];

const grouped = (count: number): string => count.toLocaleString('en-US');

const counted = (count: number, one: string, many = `${one}s`): string =>
  `${grouped(count)} ${count === 1 ? one : many}`;

/** Composes the mail as plain text, and as HTML without links or images. */
export function composeSummary(summary: Summary): { subject: string; text: string; html: string } {
  const subject = `Reputation of ${summary.host} on ${summary.date}: ${describeState(summary)}`;
  const sections = listSections(summary);
  const end = 'See more with: rasket reputation, rasket egress and rasket findings all.';
  return {
    subject,
    text: [...sections.map(formatSection), end].join('\n\n'),
    html: `<!doctype html><html><body>${sections.map(renderSection).join('')}<p>${escapeHtml(end)}</p></body></html>`,
  };
}

function describeState({ entries, findings }: Summary): string {
  const count = (level: Level): number => entries.filter((entry) => entry.level === level).length;
  const parts = [
    ...(count('bad') > 0 ? [`${count('bad')} bad`] : []),
    ...(count('watch') > 0 ? [`${count('watch')} to watch`] : []),
    ...(findings.length > 0 ? [counted(findings.length, 'finding')] : []),
  ];
  return parts.length === 0 ? 'nothing is wrong' : parts.join(', ');
}

function listSections(summary: Summary): Section[] {
  const { entries, isCut } = summary;
  const ofLevels = LEVELS.map(({ level, title }) => ({
    title,
    lines: entries.filter((entry) => entry.level === level).map(formatEntry),
  }));
  const mail = entries.length === 0 ? ['No provider replied to any mail.'] : [formatTotals(entries)];
  const all: Section[] = [
    {
      title: `Mail of ${summary.date} (UTC)`,
      lines: [...mail, ...(isCut ? ['Sources and providers with less mail are left out.'] : [])],
    },
    ...ofLevels,
    { title: 'Changes since the day before', lines: entries.flatMap(formatChange) },
    { title: 'Open findings', lines: summary.findings.map(formatFinding) },
    { title: 'Warm-ups', lines: formatWarmUps(summary) },
  ];
  return all.filter(({ lines }) => lines.length > 0);
}

function formatTotals(entries: readonly SummaryEntry[]): string {
  const sum = (count: (entry: SummaryEntry) => number): string =>
    grouped(entries.reduce((total, entry) => total + count(entry), 0));
  return `${sum(({ accepted }) => accepted)} accepted, ${sum(({ deferred }) => deferred)} deferred, ${sum(({ bounced }) => bounced)} bounced, ${sum(({ complained }) => complained)} complained.`;
}

function formatEntry({
  source,
  provider,
  accepted,
  deferred,
  bounced,
  complained,
  rates,
  level,
  reason,
}: SummaryEntry) {
  const share = (rate: number | null, count: number): string => (rate === null || count === 0 ? '' : ` (${rate} %)`);
  const counts = [
    `${grouped(accepted)} accepted`,
    `${grouped(deferred)} deferred${share(rates.deferred, deferred)}`,
    `${grouped(bounced)} bounced${share(rates.bounced, bounced)}`,
    `${grouped(complained)} complained${share(rates.complained, complained)}`,
  ].join(', ');
  const cause = level === 'bad' || level === 'watch' ? ` ${reason}` : '';
  return `${source} → ${provider}: ${counts}.${cause}`;
}

function formatChange({ source, provider, level, before }: SummaryEntry): string[] {
  if (before === undefined || before === level || level === 'unknown' || before === 'unknown') return [];
  return [`${source} → ${provider}: ${before} → ${level}`];
}

function formatFinding(finding: Finding): string {
  const { summary, node, advice } = finding;
  const where = node === undefined || node === null ? '' : `${node}: `;
  const command = advice.command === null ? '' : `: ${advice.command}`;
  return `${findSeverity(finding)}: ${where}${summary} ${advice.words}${command}`;
}

const formatWarmUps = ({ warmUps, idleWarmUps }: Summary): string[] => [
  ...warmUps.map(({ source, provider, day, days, isPaused }) => {
    const place = day > days ? 'no limit any more' : `day ${day} of ${days}`;
    return `${source} → ${provider}: ${place}${isPaused ? ', paused' : ''}`;
  }),
  ...idleWarmUps.map((source) => `${source}: it has sent nothing yet`),
];

const formatSection = ({ title, lines }: Section): string => [title, ...lines.map((line) => `- ${line}`)].join('\n');

const renderSection = ({ title, lines }: Section): string =>
  `<h3>${escapeHtml(title)}</h3><ul>${lines.map((line) => `<li>${escapeHtml(line)}</li>`).join('')}</ul>`;
