import { Help, InvalidArgumentError, type Command, type Option } from 'commander';
import { ApiFault, createClient, findTarget, type Client, type Target } from '../client/index.ts';
import { CliFault, explainFault, openTerminal, type Terminal } from '../output/index.ts';

/** What a verb works with: the API, the reader, and whether the reader is a program that wants JSON. */
export interface Session {
  client: Client;
  target: Target;
  terminal: Terminal;
  isJson: boolean;
  version: string;
  /** Ends the command with status 1 although the API did what it was asked. */
  fail(): void;
}

export interface Declared {
  summary: string;
  description?: string;
  /** The words behind `rasket` of one call that works as it stands. */
  example: string;
}

/** The options every command of the API has. */
export interface CommonOptions {
  url?: string;
  apiKey?: string;
  data?: string;
  json?: boolean;
}

export function declareCommand(parent: Command, usage: string, { summary, description, example }: Declared): Command {
  return parent
    .command(usage)
    .configureHelp({ visibleOptions: commonLast })
    .summary(summary)
    .description(description ?? `${summary[0]?.toUpperCase()}${summary.slice(1)}.`)
    .option('--json', 'print exactly what the API answered')
    .option('--url <url>', 'the server (RASKET_URL)')
    .option('--api-key <key>', 'the key (RASKET_API_KEY, which other users of this machine cannot see)')
    .option('--data <dir>', 'the data folder of a development server, whose address and key are taken')
    .addHelpText('after', `\nExample:\n  rasket ${example}`);
}

const COMMON = new Set(['--json', '--url', '--api-key', '--data']);

/** What a command has of its own is what its reader is looking for. */
function commonLast(this: Help, command: Command): Option[] {
  const options = Help.prototype.visibleOptions.call(this, command);
  const isCommon = (option: Option): boolean => COMMON.has(option.long ?? '');
  return [...options.filter((option) => !isCommon(option)), ...options.filter(isCommon)];
}

type Perform = (session: Session, words: (string | undefined)[], options: never) => Promise<void>;

/** Wraps a verb as the action of its command: finds server and key, and puts faults into words and into the exit status. */
export function act(perform: Perform, needs: { key: boolean } = { key: true }) {
  return async (...given: unknown[]): Promise<void> => {
    const command = given.at(-1) as Command;
    const options = given.at(-2) as CommonOptions;
    const terminal = openTerminal({ out: process.stdout, err: process.stderr, env: process.env });
    const isJson = options.json ?? false;
    await report(terminal, isJson, async () => {
      const target = findTarget({ url: options.url, apiKey: options.apiKey, data: options.data, env: process.env });
      if (needs.key && target.apiKey === undefined) throw noKey(target);
      const version = versionOf(command);
      const client = createClient({ url: target.url, apiKey: target.apiKey, version });
      const fail = (): void => void (process.exitCode = 1);
      await perform(
        { client, target, terminal, isJson, version, fail },
        given.slice(0, -2) as string[],
        options as never,
      );
    });
  };
}

/** Runs a command to its end; a fault that is no defect becomes lines and an exit status. */
export async function report(terminal: Terminal, isJson: boolean, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    terminal.progress('');
    const explanation = explainFault(error);
    if (!explanation) throw error;
    if (isJson && error instanceof ApiFault) terminal.printJson(error.body);
    const [first = '', ...more] = explanation.lines;
    for (const line of [`rasket: ${first}`, ...more]) process.stderr.write(`${line}\n`);
    process.exitCode = explanation.exitCode;
  }
}

export function versionOf(command: Command): string {
  let root = command;
  while (root.parent) root = root.parent;
  return root.version() ?? '';
}

function noKey(target: Target): CliFault {
  const note = target.note === undefined ? '' : ` ${target.note}`;
  return new CliFault(`No API key is set for ${target.url}.${note} Set one with: rasket login --url ${target.url}`);
}

/** For options that may be given several times. */
export const collect = (value: string, before: string[] | undefined): string[] => [...(before ?? []), value];

export function wholeNumber(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number.');
}

/** How every list is paged. */
export const addPaging = (command: Command): Command =>
  command
    .option('--limit <n>', 'how many to list, 1 to 100 (default: 20)', wholeNumber)
    .option('--after <id>', 'go on behind this one, towards older ones')
    .option('--before <id>', 'end before this one, towards newer ones');

export interface Paging {
  limit?: number;
  after?: string;
  before?: string;
}

/** Says at a terminal that there is more, and how to see it. */
export function hintMore(terminal: Terminal, words: string, page: { has_more: boolean; data: { id: string }[] }): void {
  const last = page.data.at(-1);
  if (page.has_more && last) terminal.hint(`There are more; go on with: rasket ${words} --after ${last.id}`);
}
