import path from 'node:path';
import type { Command } from 'commander';
import type { Finding, ReadyFinding } from '../../src/contract/index.ts';
import {
  ApiFault,
  createClient,
  describeStore,
  isInClear,
  isSession,
  findStore,
  NoAnswer,
  OF_MACHINE,
  type Client,
  type Environment,
  type Target,
} from '../client/index.ts';
import { columnsOfChecks, findingRows } from '../families/findings.ts';
import {
  CliFault,
  EXIT,
  explainFault,
  formatPairs,
  formatProseRows,
  formatTable,
  isOperators,
  findProcess,
  fitProse,
  createLineFormatter,
  setOne,
  shownFields,
  tableColumns,
  type Terminal,
} from '../output/index.ts';
import { isSendingKey } from './login.ts';
import type { Examination, FindMachine, Machine, MachineState } from './machine.ts';
import { inSession, type CommonOptions, type Session } from './session.ts';
import { askReady, formatChecks, formatFindingRows } from './system/ready.ts';

interface Examined {
  version: string;
  /** Null if it is unknown and nobody was asked. */
  url: string | null;
  url_from: string;
  key: string | null;
  key_from: string;
  /** The status of the key according to the server; null if it was not asked. */
  key_state: string | null;
  /** Names the place that keys are read from and stored in, and the reason if it is not the best one. */
  key_store: string;
  ready: Awaited<ReturnType<typeof askReady>> | null;
  /** The installation on this machine, if there is one. */
  machine: { data: string; nodes: MachineState['nodes'] } | null;
  /** The external checks; null if nobody could run them. */
  checks: MachineState['checks'] | null;
  /** The server's faults, in as much detail as was available. */
  findings: readonly (Finding | ReadyFinding)[];
  problems: string[];
  /** Questions that could not be asked, and what they require. */
  not_asked: string[];
}

export interface DoctorOptions extends CommonOptions {
  config?: string;
}

/** Checks everything that other commands need, and does not stop at a fault. */
export async function runDoctor(command: Command, options: DoctorOptions, findMachine?: FindMachine): Promise<void> {
  const { env, cwd } = findProcess(command);
  const [data, config] = [options.data, options.config].map((name) => name && path.resolve(cwd(), name));
  const machine = await findMachine?.(env, { data, config });
  const isNamed = machine !== undefined && data !== undefined && options.profile === undefined;
  const needs = { key: false, ...(isNamed ? { installation: { url: machine.url } } : {}) };
  const { data: _, ...others } = options;
  await inSession(command, isNamed ? others : options, needs, async (session) => {
    if (config !== undefined && !machine) {
      const says = 'there is no installation on this machine for --config; name its data folder with --data';
      throw new CliFault(says, 'usage');
    }
    await examine(session, machine, isNamed);
  });
}

async function examine(session: Session, machine: Machine | undefined, isNamed: boolean): Promise<void> {
  const { terminal, isJson, fail, target } = session;
  const { examined, exitCode } = await examineServer(session, machine, isNamed);
  if (exitCode !== EXIT.done) fail(exitCode);
  if (isJson) return terminal.printJson(examined);
  const pairs = formatFacts(terminal, [
    ['Version', examined.version],
    ['Server', examined.url === null ? 'unknown' : `${examined.url} (${examined.url_from})`],
    [
      isSession(target.apiKey) ? 'Session' : 'API key',
      examined.key === null
        ? `none${target.note === undefined ? '' : `. ${target.note}`}`
        : `${examined.key} (${examined.key_from})`,
    ],
    ['It is', examined.key_state],
    ['Kept in', examined.key_store],
    ['This machine', examined.machine && inWords(examined.machine)],
  ]);
  const checks = examined.ready ? formatChecks(terminal, examined.ready.checks) : undefined;
  const [first] = examined.findings;
  // The name is that of a finding, so that the line can be copied.
  const more = first && createLineFormatter()({ words: 'More about a finding', command: ['help', first.code] });
  const parts = [
    pairs,
    checks,
    outsideTable(session, examined.checks),
    formatFindingRows(terminal, findingRows(examined.findings, session.sayCommand)),
    more,
  ];
  const said = [...examined.problems, ...examined.not_asked];
  const texts = said.map((text) => (terminal.isTty ? fitProse(text, terminal.columns) : text));
  terminal.print([...parts, ...texts].filter((part) => part !== undefined).join('\n\n'));
}

/** Formats labels and values; a person sees long values wrapped between words. */
function formatFacts(terminal: Terminal, pairs: readonly (readonly [label: string, value: string | null])[]): string {
  if (!terminal.isTty) return formatPairs(terminal, pairs);
  const rows = pairs.flatMap(([label, text]) => (text === null ? [] : [{ cells: [[label, 'dim'] as const], text }]));
  return formatProseRows(terminal, rows);
}

const inWords = ({ data, nodes }: NonNullable<Examined['machine']>): string =>
  nodes.length === 0 ? data : `${data}, ${nodes.map(({ name, version }) => `${name} (${version})`).join(', ')}`;

/** Omits checks that do not apply to the machine. */
function outsideTable({ terminal }: Session, checks: Examined['checks']): string | undefined {
  const rows = (checks ?? []).filter(({ state }) => state !== 'skipped');
  if (rows.length === 0) return undefined;
  const columns = tableColumns(terminal, shownFields(columnsOfChecks(rows)));
  if (!terminal.isTty) return formatTable(terminal, rows, columns);
  const [summary, ...others] = columns.toReversed();
  return formatProseRows(
    terminal,
    rows.map((row) => ({
      cells: others
        .toReversed()
        .map(({ value, style }) => [String(value(row) ?? ''), style?.(row) ?? 'plain'] as const),
      text: String(summary?.value(row) ?? ''),
    })),
  );
}

interface Examining {
  session: Session;
  examined: Examined;
  /** Adds a problem and the exit code of the command for it; the first one decides. */
  add(problem: string, exitCode: number): void;
  /** The same for a fault that is no defect of ours. */
  note(error: unknown): null;
}

/** Exits as any other command with this server and key would: with the code of the first fault. */
async function examineServer(
  session: Session,
  machine: Machine | undefined,
  isNamed: boolean,
): Promise<{ examined: Examined; exitCode: number }> {
  const { target, version, process, formatAdvices } = session;
  // If no server was named, it is the one of this machine, wherever it listens.
  const isDefault = target.urlFrom === 'default';
  const isUnknown = isDefault && machine?.url === undefined && (isNamed || machine?.mayLook === true);
  const url = (isDefault ? machine?.url : undefined) ?? target.url;
  const isHere = machine !== undefined && (isNamed || isDefault || machine.isServedAt(url));
  const examined: Examined = {
    version,
    url: isUnknown ? null : url,
    url_from: isUnknown ? 'none' : url === target.url ? target.urlFrom : OF_MACHINE,
    key: target.apiKey === undefined ? null : `${target.apiKey.slice(0, SHOWN)}…`,
    key_from: target.keyFrom,
    key_state: null,
    key_store: storeInForce(process.env, target),
    ready: null,
    machine: null,
    checks: null,
    findings: [],
    problems: [],
    not_asked: [],
  };
  let exitCode: number = EXIT.done;
  const add: Examining['add'] = (problem, itsCode) => {
    examined.problems.push(problem);
    exitCode ||= itsCode;
  };
  const note: Examining['note'] = (error) => {
    // The machine's own finding says how to start a server here.
    const fault =
      isHere && error instanceof NoAnswer
        ? new NoAnswer({ ...error, cause: error.message, advice: adviseStart(machine) })
        : error;
    const explanation = explainFault(fault, { key: target, formatAdvices });
    if (!explanation) throw error;
    add(explanation.lines.join('\n'), explanation.exitCode);
    return null;
  };
  const looking: Examining = { session, examined, add, note };
  // Runs before anything is asked, so that problems which are fixed by now are not reported.
  const examination = isHere ? await examineHere(looking, machine) : undefined;
  if (isUnknown) examined.not_asked.push(...notKnown(machine));
  else examined.findings = await askServer(looking, url, isHere ? machine : undefined);
  if (isHere && examination !== undefined)
    examined.findings = withMachine(examined.findings, await examineThisMachine(looking, machine, examination));
  else if (machine?.mayLook) {
    // The advised command omits the options that name the other server.
    const advice = createLineFormatter()({ words: 'Examine it with', command: ['doctor', '--data', machine.data] });
    add(`The machine was not examined: ${url} is not the server of this machine. ${advice}`, EXIT.failed);
  }
  if (!machine && target.development !== undefined)
    examined.not_asked.push(
      `The machine was not examined: ${url} is a development server, whose mail never leaves the machine.`,
    );
  // The named folder was not checked.
  if (isNamed && machine?.mayLook === false) exitCode ||= EXIT.failed;
  if (examined.findings.some(({ severity }) => severity === 'error')) exitCode ||= EXIT.failed;
  return { examined, exitCode };
}

/** Asks the server of this machine to examine it, through the port that only this machine reaches. */
async function examineHere({ session, examined }: Examining, machine: Machine): Promise<Examination> {
  const running = machine.mayLook ? machine.running() : undefined;
  if (!running) return 'no server';
  const { version } = session;
  const client = createClient({ url: running.url, apiKey: running.pass, version });
  try {
    await client.call('examineInstallation', {});
    return 'done';
  } catch (error) {
    const why = error instanceof Error ? error.message : 'unknown';
    examined.not_asked.push(`The server of this machine did not run the checks again: ${why}`);
    return 'refused';
  }
}

/** If the folder cannot be read, its check says so. */
const notKnown = (machine: Machine | undefined): string[] =>
  machine?.whyNoUrl === undefined
    ? []
    : [`Not checked: the server of this folder, because its address is unknown: ${machine.whyNoUrl}.`];

/** Advises an account that may not examine the machine; for others the finding names the command. */
const adviseStart = ({ mayLook, startCommand }: Machine): { words: string }[] =>
  mayLook || startCommand === undefined ? [] : [{ words: `Start it with: sudo ${startCommand}` }];

/** Returns the server's faults, in as much detail as the key allows. `machine` is the one of that server, if it is here. */
async function askServer(looking: Examining, url: string, machine: Machine | undefined): Promise<Examined['findings']> {
  const { session, examined, add, note } = looking;
  const { target, version, formatAdvices } = session;
  const client = url === target.url ? session.client : createClient({ ...target, url, version });
  try {
    examined.ready = await askReady(client);
  } catch (error) {
    const local = error instanceof NoAnswer && machine?.mayLook ? machine.running()?.url : undefined;
    if (error instanceof NoAnswer && local !== undefined && local !== url) {
      const reason =
        error.isSelfSigned && machine?.isSelfSigned()
          ? `${url} has the self-signed certificate that the settings ask for, which other machines do not trust`
          : `${url} cannot be reached from this machine: ${error.message.replace(/\.$/, '')}`;
      examined.not_asked.push(`${reason}; the server was asked at ${local}.`);
      return askServer(looking, local, machine);
    }
    note(error);
  }
  if (examined.ready && 'message' in examined.ready) add(examined.ready.message, EXIT.server);
  let findings: Examined['findings'] = examined.ready?.findings ?? [];
  if (target.apiKey === undefined) {
    const says = `No API key is set. ${formatAdvices(setOne({ ...target, url }))}`;
    // Examining the installation of this machine takes no key if the folder may be read.
    if (machine?.mayLook)
      examined.not_asked.push(
        `Not checked, without a key: whether a key is accepted, and what is wrong for its team. ${says}`,
      );
    else add(says, EXIT.auth);
  } else if (examined.ready) {
    examined.key_state = await tryKey(client, target.apiKey).then((state) => state, createFaultReader(note));
    // The public findings show whether anything is wrong; the details take another request.
    if (examined.key_state === OF_OPERATOR) findings = await examineThere(looking, client, findings);
    else if (findings.length > 0 && examined.key_state !== null && HAS_DETAILS.has(examined.key_state))
      findings = await askFindings(client, findings).catch((error) => note(error) ?? findings);
  }
  if (isInClear(url))
    add(`${url} is not encrypted: every host on the network path can read the key. Use https.`, EXIT.failed);
  return findings;
}

const OF_TEAM = 'accepted';
const OF_OPERATOR = 'accepted, for an operator';
const OF_PERSON = 'accepted, for a person';
/** Findings of a team cannot be requested with this credential. */
const OF_NO_TEAM = 'accepted, for a person without a team';
const HAS_DETAILS: ReadonlySet<string> = new Set([OF_TEAM, OF_PERSON]);

/** Has the server examine its machine, as an operator; an older server only returns what it knows. */
async function examineThere(
  { examined, note }: Examining,
  client: Client,
  known: readonly ReadyFinding[],
): Promise<readonly (Finding | ReadyFinding)[]> {
  try {
    const { checks, findings } = await client.call('examineInstallation', {});
    examined.checks = checks;
    return findings;
  } catch (error) {
    if (!(error instanceof ApiFault && error.status === 404)) return note(error) ?? known;
  }
  return client.call('getOperatorFindings', {}).then(
    ({ findings }) => findings,
    () => known,
  );
}

/** Returns the details; an older server has none. */
async function askFindings(
  client: Client,
  known: readonly ReadyFinding[],
): Promise<readonly (Finding | ReadyFinding)[]> {
  try {
    return (await client.call('getFindings', {})).findings;
  } catch (error) {
    if (error instanceof ApiFault && error.status === 404) return known;
    throw error;
  }
}

async function examineThisMachine(
  { examined, add }: Examining,
  machine: Machine,
  examination: Examination,
): Promise<MachineState['findings']> {
  const { data, nodes, checks, findings, problems, notAsked } = await machine.readState(examination);
  examined.machine = { data, nodes };
  if (checks.length > 0) examined.checks = checks;
  for (const problem of problems) add(problem, EXIT.failed);
  examined.not_asked.push(...notAsked);
  return findings;
}

/** The machine's check has the details of the installation; the server's other findings concern the team of the key. */
function withMachine(asked: Examined['findings'], here: MachineState['findings']): Examined['findings'] {
  const codes = new Set<string>(here.map(({ code }) => code));
  const all = [...here, ...asked.filter(({ code }) => !codes.has(code))];
  return all.toSorted((a, b) => a.severity.localeCompare(b.severity));
}

/** The cheapest call that it may make. */
async function tryKey(client: Client, apiKey: string): Promise<string> {
  if (isSession(apiKey)) return (await client.call('getSession', {})).current_team ? OF_PERSON : OF_NO_TEAM;
  if (isOperators({ apiKey })) {
    await client.call('listQueueHolds', { query: { limit: 1 } });
    return OF_OPERATOR;
  }
  await client.call('listEmails', { query: { limit: 1 } });
  return OF_TEAM;
}

const storeInForce = (env: Environment, { keyFrom }: Pick<Target, 'keyFrom'>): string =>
  keyFrom === 'RASKET_API_KEY'
    ? 'RASKET_API_KEY, which takes precedence; the keyring is not used'
    : describeStore('files that only you can read', findStore(env));

/** The prefix by which `rasket keys list` shows a key. */
const SHOWN = 10;

function createFaultReader(note: (error: unknown) => null): (error: unknown) => string | null {
  return (error) => {
    if (error instanceof ApiFault && isSendingKey(error)) return 'accepted, for sending only';
    note(error);
    return error instanceof NoAnswer ? null : 'refused';
  };
}
