import type { AnswerOf } from '../client/index.ts';
import {
  declareAction,
  declareReport,
  wide,
  withRemaining,
  type Family,
  type Field,
  type FormatCommand,
  type Tone,
} from './family.ts';

type Finding = AnswerOf<'getFindings'>['findings'][number];
type ReadyFinding = AnswerOf<'getReady'>['findings'][number];

const TONES: Record<Finding['severity'], Tone> = { error: 'bad', warning: 'attention' };

export const toneOfFinding = ({ severity }: Pick<Finding, 'severity'>): Tone => TONES[severity];

type Shown<Told extends ReadyFinding> = Omit<Told, 'advice'> & { advice: string; command: string };

/** Returns findings as rows of a table: a command is not part of a sentence, so that it can be copied. */
export const findingRows = <Told extends ReadyFinding>(
  findings: readonly Told[],
  sayCommand: FormatCommand = (command) => command,
): Shown<Told>[] =>
  findings.map(({ advice: { words, command }, ...finding }) => ({
    ...finding,
    advice: words,
    command: command === null ? '' : sayCommand(command),
  }));

const severity: Field<Shown<ReadyFinding>> = {
  name: 'severity',
  label: 'Severity',
  kind: 'state',
  tone: toneOfFinding,
};
const code: Field<Shown<ReadyFinding>> = { name: 'code', label: 'Finding', kind: 'whole' };
const told: readonly Field<Shown<ReadyFinding>>[] = [
  { name: 'summary', label: 'What is wrong', kind: 'long' },
  { name: 'advice', label: 'What to do', kind: 'long' },
  { name: 'command', label: 'With', kind: 'long' },
];

const readyFindingColumns = [severity, code, ...told];

const findingColumns: readonly Field<Shown<Finding>>[] = [
  severity,
  code,
  { name: 'since', label: 'Since', kind: 'time' },
  { name: 'count', label: 'How many', kind: 'number' },
  ...told,
  ...wide<Shown<Finding>>(
    { name: 'subjects', label: 'About', value: ({ subjects }) => subjects.join(' ') },
    { name: 'node', label: 'Node', kind: 'name' },
  ),
];

/** Returns the columns for detailed findings, or for public ones. */
export const columnsOfFindings = (findings: readonly object[]): readonly Field<never>[] =>
  findings.some((finding) => 'since' in finding) ? findingColumns : readyFindingColumns;

type Check = AnswerOf<'getOperatorFindings'>['checks'][number];

const STATES: Record<Check['state'], Tone> = { passed: 'good', failed: 'bad', unknown: 'attention', skipped: 'plain' };

const checkColumns: readonly Field<Check>[] = [
  { name: 'name', label: 'Check', kind: 'whole' },
  { name: 'state', label: 'State', kind: 'state', tone: ({ state }) => STATES[state] },
  { name: 'summary', label: 'Result', kind: 'long' },
];

/** Includes the machine if there are several. */
export const columnsOfChecks = (checks: readonly Check[]): readonly Field<Check>[] =>
  new Set(checks.map(({ machine }) => machine)).size > 1
    ? [{ name: 'machine', label: 'Machine', kind: 'name' }, ...checkColumns]
    : checkColumns;

const NOTHING = 'Nothing is wrong.';

export const findings = withRemaining({
  command: 'findings',
  summary: 'show what is wrong now, and what to do about it',
  noun: 'a finding',
  report: declareReport('getFindings', {
    rows: ({ findings: all }, sayCommand) => findingRows(all, sayCommand),
    columns: findingColumns,
    describe: ({ findings: all }) => (all.length === 0 ? NOTHING : ''),
  }),
  elsewhere: { getOperatorFindings: true, examineInstallation: true },
});

function describeChecks(checks: readonly Check[], count: number): string {
  const made = checks.filter(({ state }) => state !== 'skipped');
  const unknown = made.filter(({ state }) => state === 'unknown').map(({ name }) => name);
  const cannot = unknown.length === 0 ? '' : ` Unknown: ${unknown.join(', ')}.`;
  const findings = count === 1 ? '1 finding' : `${count} findings`;
  return `${made.length} checks ran.${cannot} ${count === 0 ? NOTHING : `There ${count === 1 ? 'is' : 'are'} ${findings}.`}`;
}

export const operatorFindings = {
  command: 'findings',
  summary: 'show what is wrong with the whole installation',
  isOperators: true,
  screens: { report: 'operator-findings' },
  noun: 'a finding',
  report: declareReport('getOperatorFindings', {
    rows: ({ findings: all }, sayCommand) => findingRows(all, sayCommand),
    columns: findingColumns,
    describe: ({ findings: all, nodes }) =>
      `${nodes.length} ${nodes.length === 1 ? 'node runs' : 'nodes run'}.${all.length === 0 ? ` ${NOTHING}` : ''}`,
  }),
  actions: [
    declareAction('examineInstallation', {
      describe: ({ checks, findings: all }) => describeChecks(checks, all.length),
      hint: () => ({ words: 'See all that is wrong with', command: ['getOperatorFindings'] }),
    }),
  ],
} satisfies Family;
