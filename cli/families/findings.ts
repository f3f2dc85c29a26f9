import type { AnswerOf } from '../client/index.ts';
import { reportOf, wide, type Family, type Field, type SayCommand, type Tone } from './family.ts';

type Finding = AnswerOf<'getFindings'>['findings'][number];
type ReadyFinding = AnswerOf<'getReady'>['findings'][number];

const TONES: Record<Finding['severity'], Tone> = { error: 'bad', warning: 'attention' };

export const toneOfFinding = ({ severity }: Pick<Finding, 'severity'>): Tone => TONES[severity];

type Shown<Told extends ReadyFinding> = Omit<Told, 'advice'> & { advice: string; command: string };

/** As rows of a table: a command stands in no sentence, so that it is copied as it is. */
export const findingRows = <Told extends ReadyFinding>(
  findings: readonly Told[],
  sayCommand: SayCommand = (command) => command,
): Shown<Told>[] =>
  findings.map(({ advice: { words, command }, ...finding }) => ({
    ...{ ...finding, advice: words },
    command: command === null ? '' : sayCommand(command),
  }));

const severity: Field<Shown<ReadyFinding>> = {
  ...{ name: 'severity', label: 'Severity', kind: 'state' },
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
  { name: 'count', label: 'How many', kind: 'whole' },
  ...told,
  ...wide<Shown<Finding>>(
    { name: 'subjects', label: 'About', value: ({ subjects }) => subjects.join(' ') },
    { name: 'node', label: 'Node', kind: 'name' },
  ),
];

/** For findings in detail, and for what anybody is told. */
export const columnsOfFindings = (findings: readonly object[]): readonly Field<never>[] =>
  findings.some((finding) => 'since' in finding) ? findingColumns : readyFindingColumns;

const NOTHING = 'Nothing is wrong.';

export const findings = {
  command: 'findings',
  summary: 'what is wrong at this moment, and what to do about it',
  noun: 'a finding',
  report: reportOf('getFindings', {
    verb: 'show',
    summary: 'show what is wrong for your team, the gravest first',
    description:
      'Shows what keeps your mail, webhooks or domains from working at this moment, the gravest first, and what to do. What is wrong with the installation is told in general; its operator sees more with `findings all`, and so does `doctor` on its machine.',
    example: 'findings',
    rows: ({ findings: all }, sayCommand) => findingRows(all, sayCommand),
    columns: findingColumns,
    tell: ({ findings: all }) => (all.length === 0 ? NOTHING : ''),
  }),
} satisfies Family;

export const operatorFindings = {
  command: 'findings',
  summary: 'what is wrong with the whole installation',
  isOperators: true,
  screens: { report: 'operator-findings' },
  noun: 'a finding',
  report: reportOf('getOperatorFindings', {
    verb: 'all',
    summary: 'show what is wrong with the whole installation, with the token of an operator',
    example: 'findings all',
    rows: ({ findings: all }, sayCommand) => findingRows(all, sayCommand),
    columns: findingColumns,
    tell: ({ findings: all, nodes }) =>
      `${nodes.length} ${nodes.length === 1 ? 'node runs' : 'nodes run'}.${all.length === 0 ? ` ${NOTHING}` : ''}`,
  }),
} satisfies Family;
