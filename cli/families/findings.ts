import type { Columns } from './columns.ts';
import { buildFields, declareAction, declareFamily, declareReport, withRemaining } from './family.ts';
import type { AnswerOf, Field, Fields, FormatCommand, Tone } from './family.ts';

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

const fields: Fields<Shown<ReadyFinding>> = {
  severity: { tone: toneOfFinding },
  code: 'Finding',
  summary: { label: 'What is wrong', kind: 'long' },
  advice: { label: 'What to do', kind: 'long' },
  command: { label: 'With', kind: 'long' },
};

const readyFindingColumns = buildFields<Shown<ReadyFinding>>({
  fields,
  columns: ['severity', 'code', 'summary', 'advice', 'command'],
});

const detailed: Columns<Shown<Finding>> = {
  fields: {
    ...fields,
    since: { kind: 'time' },
    count: { label: 'How many', kind: 'number' },
    subjects: { label: 'About', join: ' ' },
  },
  columns: ['severity', 'code', 'since', 'count', 'summary', 'advice', 'command'],
  wide: ['subjects', 'node'],
};
const findingColumns = buildFields(detailed);

/** Returns the columns for detailed findings, or for public ones. */
export const columnsOfFindings = (findings: readonly object[]): readonly Field<never>[] =>
  findings.some((finding) => 'since' in finding) ? findingColumns : readyFindingColumns;

type Check = AnswerOf<'getOperatorFindings'>['checks'][number];

const checkFields: Fields<Check> = {
  machine: { kind: 'name' },
  name: { label: 'Check', kind: 'whole' },
  state: { tone: { passed: 'good', failed: 'bad', unknown: 'attention', skipped: 'plain' } },
  summary: { label: 'Result', kind: 'long' },
};

/** Includes the machine if there are several. */
export const columnsOfChecks = (checks: readonly Check[]): readonly Field<Check>[] =>
  buildFields<Check>({
    fields: checkFields,
    columns: [
      ...(new Set(checks.map(({ machine }) => machine)).size > 1 ? (['machine'] as const) : []),
      'name',
      'state',
      'summary',
    ],
  });

const NOTHING = 'Nothing is wrong.';

export const findings = withRemaining({
  summary: 'show what is wrong now, and what to do about it',
  noun: 'a finding',
  report: declareReport('getFindings', {
    rows: ({ findings: all }, sayCommand) => findingRows(all, sayCommand),
    ...detailed,
    hasFindings: true,
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

export const operatorFindings = declareFamily({
  summary: 'show what is wrong with the whole installation',
  isOperators: true,
  screens: { report: 'operator-findings' },
  noun: 'a finding',
  report: declareReport('getOperatorFindings', {
    rows: ({ findings: all }, sayCommand) => findingRows(all, sayCommand),
    ...detailed,
    hasFindings: true,
    describe: ({ findings: all, nodes }) =>
      `${nodes.length} ${nodes.length === 1 ? 'node runs' : 'nodes run'}.${all.length === 0 ? ` ${NOTHING}` : ''}`,
  }),
  actions: [
    declareAction('examineInstallation', {
      describe: ({ checks, findings: all }) => describeChecks(checks, all.length),
      hint: () => ({ words: 'See all that is wrong with', command: ['getOperatorFindings'] }),
    }),
  ],
});
