import type { Command } from 'commander';
import {
  ApiFault,
  createClient,
  findTarget,
  listOfAdvice,
  mustRun,
  type Advised,
  type Advices,
  type Client,
  type Target,
} from '../client/index.ts';
import {
  beOperator,
  CliFault,
  commandsIn,
  EXIT,
  explainFault,
  openTerminal,
  callOf,
  processOf,
  sayOnLine,
  setOne,
  type Chosen,
  type CommandProcess,
  type Explanation,
  type Say,
  type Terminal,
} from '../output/index.ts';
import type { SayCommand } from '../families/family.ts';
import { isCommon } from './common-options.ts';
import { getMachineFinder } from './machine.ts';
import { nameOptions } from './name-options.ts';
import { findOperatorTarget } from './operator-target.ts';
import { tellWaits } from './tell-waits.ts';
import { chosenBy, typeAgain } from './type-again.ts';

/** What a verb works with: the API, the reader, and whether the reader is a program that wants JSON. */
export interface Session {
  client: Client;
  target: Target;
  terminal: Terminal;
  isJson: boolean;
  version: string;
  /** Its streams, variables and working folder. */
  process: CommandProcess;
  /** The line that was typed, to be typed again with these words more: at the same server, with the same options. */
  again(more: readonly string[]): string;
  /** Advice as lines: its commands reach the same server. */
  say(advices: Advices): string;
  /** A command that the API advises, as it is typed here. */
  sayCommand: SayCommand;
  /** Shows it to a person. */
  advise(advices: Advices): void;
  /** Ends the command with status 1, or this one, although the API did what it was asked. */
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
  /** Where the installation listens whose data folder was named; its address may be unknown. */
  installation?: { url: string | undefined };
  /** Marks a command for operators: on the machine of an installation its pass is enough. */
  operator?: boolean;
  /** It draws a screen of its own, in which no other line may stand. */
  screen?: true;
}

/** Finds server and key, and puts faults into words and into the exit status. */
export async function inSession(
  command: Command,
  options: CommonOptions,
  { key: needsKey, operator: isOperators = false, screen: hasScreen, installation }: Needs,
  perform: (session: Session) => Promise<void>,
): Promise<void> {
  const process = processOf(command);
  const terminal = terminalOf(process);
  const sayOne = exceptItself(command, sayOnLine(installation ? chosenAt(installation.url) : chosenBy(command)));
  const say = (advices: Advices): string =>
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
    const version = versionOf(command);
    // With several profiles, the server that is about to be changed is named.
    const onWrite = (): void => terminal.hint(terminal.paint('dim', `On ${target.url} (${target.urlFrom})`));
    const { apiKey: key, operatorToken, development } = target;
    const to = { url: target.url, apiKey: key, operatorToken, version, mustBeThere: mustRun(development) };
    const silent = createClient({ ...to, ...(hasScreen ? {} : { onWrite }) });
    const client = isJson || hasScreen ? silent : tellWaits(silent, terminal);
    const again = (more: readonly string[]): string => typeAgain(command, target, more);
    const fail = (exitCode: number = EXIT.failed): void => void (process.exitCode = exitCode);
    const sayCommand = commandsIn(sayOne);
    const advise = (advices: Advices): void => {
      if (listOfAdvice(advices).length > 0) terminal.hint(say(advices));
    };
    await perform({ client, target, terminal, isJson, version, process, again, say, sayCommand, advise, fail });
  };
  const explain: Explain = (error) => explainFault(error, { inWordsOf: nameOptions(command), key: inUse, say: sayOne });
  await report({ process, terminal, isJson }, work, explain);
}

/** For what needs no server. */
export function atTerminal(
  command: Command,
  perform: (terminal: Terminal, process: CommandProcess) => Promise<void>,
): Promise<void> {
  const process = processOf(command);
  const terminal = terminalOf(process);
  return report({ process, terminal, isJson: false }, () => perform(terminal, process));
}

const chosenAt = (url: string | undefined): Chosen => ({
  options: url === undefined ? [] : [['--url', url]],
  isKeyTyped: false,
});

/** Nobody is helped by what was just typed. */
const exceptItself =
  (command: Command, say: Say): Say =>
  (advice) =>
    advice.command && isTyped(command, advice.command) ? undefined : say(advice);

function isTyped(command: Command, [called, ...words]: Advised): boolean {
  const path = chainOf(command).slice(1);
  if (callOf(called) !== path.map((one) => one.name()).join(' ')) return false;
  // With options of its own it was another question.
  const isPlain = command.options.every(
    (option) => isCommon(option) || command.getOptionValueSource(option.attributeName()) !== 'cli',
  );
  return isPlain && words.every((word) => command.args.includes(word));
}

const terminalOf = ({ stdout: out, stderr: err, env }: CommandProcess): Terminal => openTerminal({ out, err, env });

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

const chainOf = (command: Command): Command[] => [...(command.parent ? chainOf(command.parent) : []), command];

export const versionOf = (command: Command): string => chainOf(command)[0]?.version() ?? '';

function noKey(target: Target, isOperators: boolean): CliFault {
  const note = target.note === undefined ? '' : ` ${target.note}`;
  const advice = isOperators ? beOperator : setOne(target);
  return new CliFault(`No API key is set for ${target.url}.${note}`, 'auth', advice);
}
