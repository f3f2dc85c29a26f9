import type { Command } from 'commander';
import {
  ApiFault,
  createClient,
  findTarget,
  listOfAdvice,
  mustRun,
  NoAnswer,
  OF_MACHINE,
  type Advised,
  type Advices,
  type Client,
  type Target,
  type TargetInput,
} from '../client/index.ts';
import {
  beOperator,
  CliFault,
  commandsIn,
  EXIT,
  explainFault,
  openTerminal,
  formatCommand,
  findProcess,
  createLineFormatter,
  setOne,
  isOperators,
  clean,
  shorten,
  type Chosen,
  type CommandProcess,
  type Explanation,
  type FormatAdvice,
  type Terminal,
  type Table,
} from '../output/index.ts';
import type { FormatCommand } from '../families/family.ts';
import { isCommon, findOptionNames } from './command-options.ts';
import { getMachineFinder, type FindMachine, type Machine } from './machine.ts';
import { chosenBy, typeAgain } from './typed-command.ts';
import path from 'node:path';

/** A field in a message: the path of one (`to.0`, `capabilities.sending`) or a name of several words (`scheduled_at`). */
const FIELD = /(?<![\w.@-])[a-z]+(?:[_.][a-z0-9]+)+(?![\w@-])/g;

/** A field of one of the things that a body is a list of: `1.to`. */
const PLACE = /(?<![\w.@-])(\d+)\.([a-z_]+(?:\.\w+)*)/g;

/**
 * Replaces names of fields by options: the API speaks of fields. `paths` are the fields that the response itself names;
 * otherwise only what can be nothing but a field is translated.
 */
function nameOptions(command: Command): (message: string, paths: readonly string[]) => string {
  const one = findOptionNames(command)['*'];
  return (message, paths) => {
    if (one !== undefined) return countFromOne(message, one);
    const isNamed = (path: string): boolean => paths.includes(path) || isSurely(command, path);
    const inside = message.replaceAll(FIELD, (path) => (isNamed(path) ? findOption(command, path) : path));
    const [first = ''] = /^[a-z]+(?=[ :])/.exec(inside) ?? [];
    return first === '' ? inside : findOption(command, first) + inside.slice(first.length);
  };
}

/** The API counts from 0, as programs do: its `Email 1` and `1.to` are of the second one. */
const countFromOne = (message: string, one: string): string =>
  message
    .replace(/^Email (\d+)(?=:)/, (_, at: string) => `Email ${Number(at) + 1}`)
    .replaceAll(PLACE, (_, at: string, field: string) => `${field} of the ${ordinal(Number(at) + 1)} ${one}`);

/** A host name looks like a path, so only a place in a list or a declared field counts as one. */
function isSurely(command: Command, path: string): boolean {
  return !path.includes('.') || /\.\d+(\.|$)/.test(path) || path in findOptionNames(command);
}

/** Returns the option that fills a field; the field itself if there is none. */
function findOption(command: Command, path: string): string {
  const names = findOptionNames(command);
  if (names[path] !== undefined) return names[path];
  const [field = '', ...parts] = path.split('.');
  const option = names[field] ?? findOptionOrArgument(command, field);
  if (option === undefined) return path;
  const [at, ...inner] = /^\d+$/.test(parts[0] ?? '') ? [Number(parts[0]), ...parts.slice(1)] : [undefined, ...parts];
  const given = at === undefined ? [] : findValues(command, option);
  const which = at !== undefined && given.length > 1 ? `${ordinal(at + 1)} ` : '';
  return `${which === '' ? '' : `the ${which}`}${option}${inner.length > 0 ? ` (${inner.join('.')})` : ''}`;
}

function findOptionOrArgument(command: Command, field: string): string | undefined {
  const word = field.replaceAll('_', '-');
  const option = command.options.find(({ long }) => long === `--${word}`);
  if (option) return option.long;
  const argument = command.registeredArguments.find((one) => [word, word.replace(/-id$/, '')].includes(one.name()));
  return argument && `<${argument.name()}>`;
}

function findValues(command: Command, option: string): readonly unknown[] {
  const found = command.options.find(({ long }) => long === option);
  const value: unknown = found && command.getOptionValue(found.attributeName());
  if (Array.isArray(value)) return value;
  return command.processedArgs.find((word): word is unknown[] => Array.isArray(word)) ?? [];
}

function ordinal(count: number): string {
  const ending = { 1: 'st', 2: 'nd', 3: 'rd' }[count % 100 > 10 && count % 100 < 14 ? 0 : count % 10] ?? 'th';
  return `${count}${ending}`;
}

const PATIENCE_MS = 1000;
/** A line in the output of a program cannot be removed, so it comes later. */
const PIPE_PATIENCE_MS = 5000;

/**
 * Returns a client that reports waiting for the server: at a terminal after a second and until it responds, in a pipe
 * and with JSON by one line on standard error.
 */
export function showWaits(client: Client, terminal: Terminal, { isJson = false } = {}): Client {
  const tell = terminal.isTty && !isJson ? showWait : warnOfWait;
  const told = <T>(answer: Promise<T>): Promise<T> => tell(terminal, client.url, answer);
  return {
    ...client,
    call: (operation, call, signal) => told(client.call(operation, call, signal)),
    download: (file, link) => told(client.download(file, link)),
    upload: (operation, form, query) => told(client.upload(operation, form, query)),
    fetchFile: (operation, query, path, body) => told(client.fetchFile(operation, query, path, body)),
  };
}

async function warnOfWait<T>(terminal: Terminal, url: string, answer: Promise<T>): Promise<T> {
  const timer = setTimeout(() => terminal.warn(clean(`Waiting for ${url}.`)), PIPE_PATIENCE_MS);
  try {
    return await answer;
  } finally {
    clearTimeout(timer);
  }
}

async function showWait<T>(terminal: Terminal, url: string, answer: Promise<T>): Promise<T> {
  const began = performance.now();
  let isTold = false;
  const timer = setInterval(() => {
    // The progress of a command with several calls is more useful.
    if (!isTold && terminal.hasProgress()) return;
    isTold = true;
    const seconds = Math.round((performance.now() - began) / 1000);
    terminal.progress(shorten(clean(`Waiting for ${url}, ${seconds} s`), terminal.columns - 1));
  }, PATIENCE_MS);
  try {
    return await answer;
  } finally {
    clearInterval(timer);
    if (isTold) terminal.progress('');
  }
}

/** Tells a person how to see values that were cut. */
export function hintWide({ terminal, again }: Session, table: Pick<Table<never>, 'hasCut'>): void {
  if (table.hasCut()) terminal.hint(`Some values are cut; show all with: ${again(['--wide'])}`);
}

/** The objects that a verb works with: the API, the terminal, and whether to print JSON. */
export interface Session {
  client: Client;
  target: Target;
  terminal: Terminal;
  isJson: boolean;
  version: string;
  /** Streams, variables and working folder of the command. */
  process: CommandProcess;
  /** Returns the typed line with these words appended: for the same server, with the same options. */
  again(more: readonly string[]): string;
  /** Advice as lines: its commands reach the same server. */
  formatAdvices(advices: Advices): string;
  /** A command that the API advises, as it is typed here. */
  sayCommand: FormatCommand;
  /** Shows it to a person. */
  advise(advices: Advices): void;
  /** Warns everybody, even when the output goes into a pipe. */
  warn(advices: Advices): void;
  /** Makes the command exit with status 1, or this one, although the API call succeeded. */
  fail(exitCode?: number): void;
}

/** The options every command of the API has. */
export interface CommonOptions {
  url?: string;
  apiKey?: string;
  data?: string;
  profile?: string;
  json?: boolean;
}

export interface Needs {
  key: boolean;
  /** The address where the installation of the named data folder listens; may be unknown. */
  installation?: { url: string | undefined };
  /** Marks a command for operators: on the machine of an installation its pass is enough. */
  operator?: boolean;
  /** It draws a screen of its own, which no other line may disturb. */
  screen?: true;
}

/** Finds server and key, and puts faults into words and into the exit status. */
export async function inSession(
  command: Command,
  options: CommonOptions,
  { key: needsKey, operator: isOperators = false, screen: hasScreen, installation }: Needs,
  perform: (session: Session) => Promise<void>,
): Promise<void> {
  const process = findProcess(command);
  const terminal = openProcessTerminal(process);
  const sayOne = exceptItself(
    command,
    createLineFormatter(installation ? chosenAt(installation.url) : chosenBy(command)),
  );
  const formatAdvices = (advices: Advices): string =>
    listOfAdvice(advices)
      .flatMap((advice) => sayOne(advice) ?? [])
      .join('\n');
  const isJson = options.json ?? false;
  let inUse: Target | undefined;
  const work = async (): Promise<void> => {
    const { url, apiKey, data, profile } = options;
    const named = { url, apiKey, data, profile, installation, needsKey, env: process.env, cwd: process.cwd() };
    const target = (inUse = isOperators
      ? await findOperatorTarget(named, getMachineFinder(command))
      : findTarget(named));
    if (needsKey && target.apiKey === undefined) throw noKey(target, isOperators);
    const version = readVersion(command);
    // Names the server that is about to be changed, for people with several profiles.
    const onWrite = (): void => terminal.hint(terminal.paint('dim', `On ${target.url} (${target.urlFrom})`));
    const { apiKey: key, operatorToken, development } = target;
    const to = { url: target.url, apiKey: key, operatorToken, version, mustBeThere: mustRun(development) };
    const silent = createClient({ ...to, ...(hasScreen ? {} : { onWrite }) });
    const client = hasScreen ? silent : showWaits(silent, terminal, { isJson });
    const again = (more: readonly string[]): string => typeAgain(command, target, more);
    const fail = (exitCode: number = EXIT.failed): void => void (process.exitCode = exitCode);
    const sayCommand = commandsIn(sayOne);
    const advise = (advices: Advices): void => {
      if (listOfAdvice(advices).length > 0) terminal.hint(formatAdvices(advices));
    };
    const warn = (advices: Advices): void => {
      if (listOfAdvice(advices).length > 0) terminal.warn(formatAdvices(advices));
    };
    await perform({
      client,
      target,
      terminal,
      isJson,
      version,
      process,
      again,
      formatAdvices,
      sayCommand,
      advise,
      warn,
      fail,
    });
  };
  const explain: Explain = (error) =>
    explainFault(error, { translate: nameOptions(command), key: inUse, formatAdvices: sayOne });
  await report({ process, terminal, isJson }, work, explain);
}

/** Runs a command that needs no server. */
export function atTerminal(
  command: Command,
  perform: (terminal: Terminal, process: CommandProcess) => Promise<void>,
): Promise<void> {
  const process = findProcess(command);
  const terminal = openProcessTerminal(process);
  return report({ process, terminal, isJson: false }, () => perform(terminal, process));
}

const chosenAt = (url: string | undefined): Chosen => ({
  options: url === undefined ? [] : [['--url', url]],
  isKeyTyped: false,
});

/** Omits advice that repeats the command that was just typed. */
const exceptItself =
  (command: Command, formatAdvices: FormatAdvice): FormatAdvice =>
  (advice) =>
    advice.command && isTyped(command, advice.command) ? undefined : formatAdvices(advice);

function isTyped(command: Command, [called, ...words]: Advised): boolean {
  const path = toCommandChain(command).slice(1);
  if (formatCommand(called) !== path.map((one) => one.name()).join(' ')) return false;
  // With options of its own it was another request.
  const isPlain = command.options.every(
    (option) => isCommon(option) || command.getOptionValueSource(option.attributeName()) !== 'cli',
  );
  return isPlain && words.every((word) => command.args.includes(word));
}

const openProcessTerminal = ({ stdout: out, stderr: err, env }: CommandProcess): Terminal =>
  openTerminal({ out, err, env });

type Explain = (error: unknown) => Explanation | undefined;

/** Runs a command to its end; a fault that is no defect becomes lines and an exit status. */
async function report(
  { process, terminal, isJson }: Pick<Session, 'process' | 'terminal' | 'isJson'>,
  work: () => Promise<void>,
  explain: Explain = explainFault,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    terminal.progress('');
    const explanation = explain(error);
    if (!explanation) throw error;
    if (isJson && error instanceof ApiFault) terminal.printJson(error.body);
    const [first = '', ...more] = explanation.lines;
    for (const line of [`rasket: ${first}`, ...more]) terminal.warn(line);
    process.exitCode = explanation.exitCode;
  }
}

const toCommandChain = (command: Command): Command[] => [
  ...(command.parent ? toCommandChain(command.parent) : []),
  command,
];

export const readVersion = (command: Command): string => toCommandChain(command)[0]?.version() ?? '';

function noKey(target: Target, isOperators: boolean): CliFault {
  const note = target.note === undefined ? '' : ` ${target.note}`;
  const advice = isOperators ? beOperator : setOne(target);
  return new CliFault(`No API key is set for ${target.url}.${note}`, 'auth', advice);
}

/**
 * Finds server and key of a command for operators. A key or profile that is typed wins, and so does the token of an operator from anywhere.
 * Otherwise the server of this machine takes the pass of the machine, if this account can write one. Another server that was chosen gets the
 * key that is in force there, and never the pass.
 */
async function findOperatorTarget(given: TargetInput & { cwd: string }, find?: FindMachine): Promise<Target> {
  const { data, cwd, env, ...others } = given;
  if (data === undefined) {
    const target = findTarget(given);
    return isSettled(given, target) ? target : ((await findPass(find, given, target)) ?? target);
  }
  const machine = await find?.(env, { data: path.resolve(cwd, data) });
  if (!machine || others.profile !== undefined) return findTarget(given);
  const target = findTarget({ ...others, cwd, env, installation: { url: machine.url } });
  const isElsewhere = others.url !== undefined && !machine.isServedAt(target.url);
  return isSettled(given, target) || isElsewhere || !machine.mayLook ? target : writePass(machine);
}

/** Returns whether the key was typed, or belongs to an operator. */
const isSettled = ({ apiKey, profile }: TargetInput, target: Target): boolean =>
  apiKey !== undefined || profile !== undefined || isOperators(target) || target.operatorToken !== undefined;

/** Returns undefined if the server in use is not the one of this machine, or this account cannot write its pass. */
async function findPass(
  find: FindMachine | undefined,
  { env }: TargetInput,
  { url, urlFrom }: Target,
): Promise<Target | undefined> {
  const machine = await find?.(env, {});
  if (!machine?.mayLook || (urlFrom !== 'default' && !machine.isServedAt(url))) return undefined;
  return writePass(machine);
}

const CHECK_IT = { words: 'Check it with', command: ['doctor'] } as const;

function writePass(machine: Machine): Target {
  const running = machine.running();
  if (!running) {
    const { startCommand: start } = machine;
    const advice = start === undefined ? CHECK_IT : { words: `Start it with: ${start}` };
    throw new NoAnswer({ url: machine.url ?? '', cause: `No server is running on ${machine.data}.`, advice });
  }
  const { url, pass } = running;
  // A question at the terminal may wait for longer than a pass is good for.
  const operatorToken = (): string => machine.running()?.pass ?? pass;
  return { url, urlFrom: OF_MACHINE, apiKey: pass, operatorToken, keyFrom: 'the pass of this machine' };
}
