import type { AnswerOf } from '../client/index.ts';

type Automation = AnswerOf<'getAutomation'>;
type Step = Automation['steps'][number];
type Runs = Automation['runs'];
type Run = AnswerOf<'getAutomationRun'>;
type Config = Readonly<Record<string, unknown>>;

/** The largest width, so that the counts stay near their step: fits a terminal of 80 columns. */
const COLUMNS = 76;
/** A branch indented further than this is drawn after the others, from the left edge. */
const INDENT_MAX = 18;

const BRANCHES = [
  ['condition_met', 'met'],
  ['condition_not_met', 'not met'],
] as const;

export const runsInWords = ({ runs }: Automation): string =>
  (['running', 'completed', 'failed', 'cancelled'] as const)
    .map((status) => `${counted(runs, runs[status])} ${status}`)
    .join(', ');

/**
 * Draws each step in a line, with its number of runs; the branches of a condition go below it, each further to the
 * right.
 */
export function drawGraph({ steps, connections, runs }: Automation, given = COLUMNS): string {
  const columns = Math.min(COLUMNS, given);
  const byKey = new Map(steps.map((step) => [step.key, step]));
  const after = Map.groupBy(connections, ({ from }) => from);
  const standing = new Map(runs.at_steps.map((at) => [at.key, counted(runs, at.runs)]));
  const drawn = new Set<string>();
  const lines: string[] = [];
  const later: string[] = [];

  const drawFrom = (first: string, indent: string): void => {
    for (let key: string | undefined = first; key !== undefined;) {
      const step = byKey.get(key);
      if (!step) return;
      if (drawn.has(key)) return void lines.push(fit(`${indent}-> ${key} (above)`, columns));
      if (indent.length > INDENT_MAX) {
        later.push(key);
        lines.push(fit(`${indent}-> ${key} (below)`, columns));
        return;
      }
      drawn.add(key);
      lines.push(formatStep(step, { indent, columns, count: standing.get(key) }));
      if (step.type === 'condition') return drawBranches(key, indent);
      key = after.get(key)?.[0]?.to;
    }
  };

  const drawBranches = (key: string, indent: string): void => {
    for (const [type, says] of BRANCHES) {
      const isLast = type === 'condition_not_met';
      const to = after.get(key)?.find((way) => way.type === type)?.to;
      lines.push(`${indent}${isLast ? '`-' : '|-'} ${says}${to === undefined ? ': the end' : ''}`);
      if (to !== undefined) drawFrom(to, `${indent}${isLast ? '   ' : '|  '}`);
    }
  };

  for (const { key, type } of steps) if (type === 'trigger') drawFrom(key, '');
  for (let key = later.shift(); key !== undefined; key = later.shift()) {
    if (drawn.has(key)) continue;
    lines.push('');
    drawFrom(key, '');
  }
  const elsewhere = [...standing].filter(([key]) => !byKey.has(key));
  if (elsewhere.length > 0) lines.push('', 'at steps of earlier versions:');
  for (const [key, count] of elsewhere) lines.push(atEnd(key, `${count} here`, columns));
  return lines.join('\n');
}

const counted = ({ counted_to: most }: Runs, count: number): string => (count < most ? `${count}` : `${most}+`);

const formatStep = (
  { key, type, config }: Step,
  { indent, columns, count }: { indent: string; columns: number; count: string | undefined },
): string => {
  const text = `${indent}${fit(key, 40)}  ${type}  ${configInWords(type, config)}`.trimEnd();
  return count === undefined ? fit(text, columns) : atEnd(text, `${count} here`, columns);
};

function configInWords(type: Step['type'], config: Config): string {
  if (type === 'trigger')
    return config['date_property'] === undefined ? plain(config['event_name']) : dateInWords(config);
  if (type === 'delay')
    return config['until'] === undefined ? plain(config['duration']) : `until ${plain(config['until'])}`;
  if (type === 'condition') return ruleInWords(config);
  if (type === 'add_to_segment') return plain(config['segment_id']);
  if (type === 'topic_update') return `${plain(config['subscription'])} ${plain(config['topic_id'])}`;
  if (type === 'contact_update') return JSON.stringify(config);
  const { id } = (config['template'] ?? {}) as Config;
  return [
    `template ${plain(id)}`,
    ...(config['subject'] === undefined ? [] : [JSON.stringify(config['subject'])]),
  ].join('  ');
}

function dateInWords({ date_property: key, repeat = 'yearly', days = 0, hour = 9 }: Config): string {
  const shift = Number(days);
  const when = shift === 0 ? '' : `, ${Math.abs(shift)} days ${shift < 0 ? 'before' : 'after'}`;
  return `${plain(key)} ${plain(repeat)}${when}, at ${plain(hour)}:00`;
}

function ruleInWords(rule: Config): string {
  const rules = rule['rules'];
  if (!Array.isArray(rules)) {
    const value = rule['value'] === undefined ? '' : ` ${JSON.stringify(rule['value'])}`;
    return `${plain(rule['field'])} ${plain(rule['operator'])}${value}`;
  }
  const parts = (rules as Config[]).map((one) =>
    Array.isArray(one['rules']) ? `(${ruleInWords(one)})` : ruleInWords(one),
  );
  return parts.join(` ${plain(rule['type'])} `);
}

const plain = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value ?? null));

/** Lists the steps of a run in the order of the graph, each followed by its result. */
export const runStepsInWords = ({ steps }: Run, columns = COLUMNS): string =>
  steps
    .flatMap(({ key, type, status, output, error }) => [
      fit(`${status.padEnd(9)}  ${fit(key, 40)}  ${type}`, Math.min(COLUMNS, columns)),
      ...Object.entries({ ...output, ...(error && { error: error['message'] ?? error }) }).map(([name, value]) =>
        oneLine(`${' '.repeat(11)}${name}: ${plain(value)}`),
      ),
    ])
    .join('\n');

/** Tells whether a contact may enter an automation, in which state its latest run is, and why events started none. */
export function enrolmentInWords(enrolment: AnswerOf<'getAutomationEnrolment'>): string {
  const { may_start: mayStart, obstacles, date, mail_excluded: excluded, latest_run: run, refusals } = enrolment;
  const lines = mayStart
    ? ['A run can be started for this contact.']
    : obstacles.map(({ message }) => `No run can be started: ${message}`);
  if (date !== null) lines.push(date.message);
  if (excluded !== null && excluded !== 'deleted') lines.push(`Steps that send email skip this contact: ${excluded}.`);
  lines.push(
    run === null
      ? 'It has no run that is still kept.'
      : `Its latest run is ${run.id}, ${run.status}, created ${run.created_at}.`,
  );
  if (refusals.length > 0) lines.push('', 'Events that started no run in the last 30 days:');
  for (const { message, times, first_at: first, last_at: last } of refusals) {
    const when = times === 1 ? `at ${last}` : `${times} times, from ${first} to ${last}`;
    lines.push(oneLine(`  ${message} (${when})`));
  }
  return lines.join('\n');
}

/** Lists the steps of a dry run, each with the time at which it would happen and what it would do. */
export function dryRunInWords(dry: AnswerOf<'dryRunAutomation'>): string {
  const { may_start: mayStart, obstacles, steps, unreadable_dates: unreadable, not_reached: others } = dry;
  const { status, ends_at: end } = dry;
  const lines = mayStart ? [] : [...obstacles.map(({ message }) => `No run could be started now: ${message}`), ''];
  for (const step of steps) {
    const { key, type, at, outcome, until, branch, subject, stream, reason } = step;
    lines.push(oneLine(`${at}  ${outcome.padEnd(5)}  ${fit(key, 40)}  ${type}`));
    const facts = [
      until !== null && `until: ${until}`,
      branch !== null && `branch: ${branch}`,
      subject !== null && `subject: ${subject}`,
      stream !== null && `stream: ${stream}`,
      reason !== null && `reason: ${reason}`,
    ];
    for (const fact of facts) if (fact !== false) lines.push(oneLine(`${' '.repeat(11)}${fact}`));
  }
  lines.push('', status === 'failed' ? 'The run would fail there.' : `The run would be completed at ${end}.`);
  if (others.length > 0) lines.push(oneLine(`Not reached: ${others.join(', ')}`));
  if (unreadable !== null && unreadable.contacts > 0) {
    const { property, contacts, examples } = unreadable;
    const who = contacts === 1 ? '1 contact has' : `${contacts} contacts have`;
    lines.push(oneLine(`${who} a ${property} that is no date, such as ${examples.join(', ')}; it starts no run.`));
  }
  lines.push('Nothing was sent or changed.');
  return lines.join('\n');
}

type Retried = Pick<AnswerOf<'retryAutomationRuns'>, 'continued' | 'refused' | 'next'>;

/** Tells how many runs were continued, and which were not and why. */
export function retriesInWords({ continued, refused, next }: Retried): string {
  const lines = [`Continued  ${continued} ${continued === 1 ? 'run' : 'runs'}`];
  for (const { run_id: id, message } of refused) lines.push(oneLine(`Not continued  ${id}  ${message}`));
  if (next !== null) lines.push('There may be more failed runs; do it again to continue them.');
  return lines.join('\n');
}

/** A line break would break the drawing; the printer cleans everything else. */
const oneLine = (text: string): string => text.replaceAll(/[\n\r\t\u2028\u2029]/g, '\uFFFD');

/** Cuts text that is too wide; each letter beyond ASCII counts as two columns. */
function fit(text: string, columns: number): string {
  const line = oneLine(text);
  if (countColumns(line) <= columns) return line;
  let shown = '';
  let used = 1;
  for (const letter of line) {
    used += countColumns(letter);
    if (used > columns) break;
    shown += letter;
  }
  return `${shown}…`;
}

const countColumns = (text: string): number => [...text].reduce((sum, letter) => sum + (letter < '\u007f' ? 1 : 2), 0);

function atEnd(text: string, end: string, columns: number): string {
  const start = fit(text, columns - end.length - 2);
  return `${start}${' '.repeat(Math.max(2, columns - countColumns(start) - end.length))}${end}`;
}
