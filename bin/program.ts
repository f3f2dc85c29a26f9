import { Command, CommanderError, Help, type Option } from 'commander';
import { commandWord, meantWords, typedWords } from '../cli/commands/typed-words.ts';
import { EXIT, runIn, type CommandProcess } from '../cli/output/command-process.ts';
import { fitProse } from '../cli/output/prose.ts';
import { addDescriptions, addOperatorCommands } from './operator-commands.ts';

/** Wraps help to lines of this width, which Commander does not do itself; examples stay commands that can be copied. */
export const fitHelp = (text: string, width: number): string =>
  text
    .split('\n')
    .flatMap((line) => (line.length > width ? wrap(line, width) : [line]))
    .join('\n');

const WORDS = /\S+/g;
/** An option with its value, and quoted text, are one word. */
const SHELL_WORDS = /--\S+ (?!-)(?:'[^']*'|[^\s'])+|(?:'[^']*'|[^\s'])+/g;

interface Word {
  text: string;
  /** Text to append when a line ends with this word. */
  end: string;
}

function wrap(line: string, width: number): string[] {
  const [start = ''] = /^ */.exec(line) ?? [];
  // An explanation after a gap of two columns continues below its first line.
  const gap = /^ *\S.*? {2,}(?=\S)/.exec(line)?.[0].length;
  const isCommand = gap === undefined && /^ *rasket /.test(line);
  const hang = gap ?? start.length + (isCommand ? 2 : 0);
  const words = isCommand ? shellWords(line, width - hang) : (line.slice(hang).match(WORDS) ?? []).map(plain);
  const lines: string[] = [];
  let last = isCommand ? start : line.slice(0, hang);
  let end = '';
  let isBegun = false;
  for (const word of words) {
    const longer = last + (isBegun ? ' ' : '') + word.text;
    if (longer.length + word.end.length > width && isBegun) {
      lines.push(last + end);
      last = ' '.repeat(hang) + word.text;
    } else last = longer;
    end = word.end;
    isBegun = true;
  }
  return [...lines, last];
}

const plain = (text: string): Word => ({ text, end: '' });

/**
 * Splits a command into words of a shell. A quoted argument that is too long for a line is broken inside its quotes, where
 * a shell keeps the line break and JSON permits it.
 */
function shellWords(line: string, width: number): Word[] {
  let isQuoted = false;
  const end = ' \\';
  return (line.match(SHELL_WORDS) ?? []).flatMap((word) =>
    (word.length + end.length <= width ? [word] : word.split(' ')).map((text) => {
      if (text.split("'").length % 2 === 0) isQuoted = !isQuoted;
      return { text, end: isQuoted ? '' : end };
    }),
  );
}

/** Fits one screen of 80 columns and 24 lines with the prompt below it. */
export const DAILY_HELP = `rasket: a self-hosted email service, with REST, SMTP and its own delivery.

Start here:
  rasket dev                 try everything out on this machine
  rasket setup               set up this machine for real mail

Each day:
  rasket doctor              show what is wrong with this machine and the server
  rasket queue               show the mail that waits, and why
  rasket emails list         list sent emails; --status bounced, --search WORDS
  rasket explain latest      show what happened to an email, and what comes next
  rasket send                send an email
  rasket domains list        list the domains you send from
  rasket suppressions list   list the addresses that no mail is sent to
  rasket logs tail           follow the API requests of your programs
  rasket audit               show who changed what
  rasket console             open the full-screen console
  rasket sending off         stop all sending of this installation
  rasket backup FOLDER       back up the database, keys and content
  rasket teams list          list the teams of this installation

All commands: rasket help --all. A command: rasket help queue
`;

/** Runs a command line: commands on the local data folder, and those that call a server over its API. */
export async function runProgram(argv: string[], version: string, its: CommandProcess): Promise<number> {
  const given = argv.slice(2);
  if (given.length === 0 || (given.length === 1 && given[0] === 'help')) {
    const isAsked = given.length > 0;
    (isAsked ? its.stdout : its.stderr).write(DAILY_HELP);
    return isAsked ? 0 : EXIT.usage;
  }
  const meant = meantWords(given[0] === 'help' && given[1] === '--all' ? ['--help'] : given);
  const program = await makeProgram(version, commandWord(meant), its);
  const words = typedWords(program, meant);
  const blame = blameOn(its);
  const [first, topic = '', ...more] = words;
  if (first === 'help' && topic.includes('_') && more.length === 0) return helpWithFinding(topic, its);
  const unknown = first === 'help' ? findUnknownWord(program, words.slice(1)) : undefined;
  if (unknown !== undefined) {
    blame(`rasket: unknown command '${unknown}'\nList all commands with: rasket help --all\n`);
    return (await import('../cli/index.ts')).EXIT.usage;
  }
  try {
    await program.parseAsync(words, { from: 'user' });
    return Number(its.exitCode ?? 0);
  } catch (error) {
    // Commander has already reported words that make no command.
    if (error instanceof CommanderError) {
      if (error.exitCode === 0) return 0;
      const { adviceFor } = await import('../cli/index.ts');
      const advice = adviceFor(program, words, error);
      if (advice !== undefined) blame(`${advice}\n`);
      return EXIT.usage;
    }
    const { toExitCode, explain } = await import('./explain.ts');
    for (const line of explain(error)) blame(`rasket: ${line}\n`);
    return toExitCode(error);
  }
}

/** Returns the first word that names no command; undefined if help can be shown for the words. */
function findUnknownWord(program: Command, words: readonly string[]): string | undefined {
  let within: Command = program;
  for (const word of words) {
    if (word.startsWith('-') || within.commands.length === 0) return undefined;
    const found = within.commands.find((one) => one.name() === word || one.aliases().includes(word));
    if (!found) return word === 'help' ? undefined : word;
    within = found;
  }
  return undefined;
}

/** Explains a finding; the names of commands contain no underscore. */
async function helpWithFinding(name: string, its: CommandProcess): Promise<number> {
  const { isFindingCode, renderFindingHelp, suggestFinding } = await import('../src/platform/finding-help.ts');
  if (isFindingCode(name)) {
    const text = renderFindingHelp(name);
    its.stdout.write(its.stdout.isTTY ? fitHelp(text, its.stdout.columns || HELP_COLUMNS) : text);
    return 0;
  }
  const { EXIT } = await import('../cli/index.ts');
  const meant = suggestFinding(name);
  const advice = meant === undefined ? 'docs/findings.md lists all of them.' : `Did you mean ${meant}?`;
  blameOn(its)(`rasket: there is no finding ${JSON.stringify(name)}. ${advice}\n`);
  return EXIT.usage;
}

/**
 * Returns the program with its commands; if the first word identifies the called one, perhaps without those over the
 * API.
 */
export async function makeProgram(version: string, called?: string, its: CommandProcess = process): Promise<Command> {
  const { stdout, stderr } = its;
  const blame = blameOn(its);
  const program = new Command('rasket')
    .description('A self-hosted email service: send by REST or SMTP, deliver straight to the recipients’ mail servers.')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show help')
    .helpCommand('help [command]', 'show help for a command')
    .configureHelp({ optionDescription: describeOption })
    .showSuggestionAfterError()
    .exitOverride()
    .configureOutput({
      // The advice after it has only those suggestions that are near.
      outputError: (text) =>
        blame(text.replace(/^error: /, 'rasket: ').replace(/^(.*unknown command .*)\n\(Did you mean.*\)/, '$1')),
      writeErr: (text) => void stderr.write(fitHelp(text, stderr.columns || HELP_COLUMNS)),
      writeOut: (text) => void stdout.write(fitHelp(text, stdout.columns || HELP_COLUMNS)),
    });
  runIn(program, its);
  addOperatorCommands(program, version);
  // The name of a server or of a command on the data folder shows that the API's half is not needed.
  if (!program.commands.some((command) => command.name() === called)) await addClientHalf(program, called);
  addDescriptions(program, version);
  return program;
}

/** Marks options without which the command is refused. */
function describeOption(this: Help, option: Option): string {
  const description = Help.prototype.optionDescription.call(this, option);
  return option.mandatory ? `${description} (required)` : description;
}

const HELP_COLUMNS = 80;

/** Prints an error to standard error. */
const blameOn =
  ({ stderr }: CommandProcess) =>
  (text: string): void =>
    void stderr.write(stderr.isTTY ? fitProse(text, stderr.columns || HELP_COLUMNS) : text);

/** Includes the texts for the help of the whole program. */
async function addClientHalf(program: Command, first: string | undefined): Promise<void> {
  const { addClientCommands, EXIT_CODES } = await import('../cli/index.ts');
  addClientCommands(program, first, async (env, named) =>
    (await import('./commands/examine-machine.ts')).findMachine(env, named),
  );
  const codes = EXIT_CODES.map(({ code, says }) => `  ${String(code).padStart(2)}  ${says}`).join('\n');
  program.addHelpText(
    'after',
    `\nStart here:\n  rasket dev          try everything out on this machine\n  rasket setup        set up this machine for real mail\n\nExit codes:\n${codes}`,
  );
}
