import { Help, InvalidArgumentError, type Command, type Option } from 'commander';
import type { Family } from '../families/family.ts';
import { isCommon, keepDefault } from './command-options.ts';
import type { CommonOptions, Needs, Session } from './session.ts';

export { collect } from './command-options.ts';
export type { Session } from './session.ts';

export interface Declared {
  summary: string;
  description?: string;
  /** The words after `rasket` of a complete call. */
  example: string;
}

export function declareCommand(
  parent: Command,
  usage: string,
  { summary, description, example }: Declared,
  place: { isDefault?: boolean } = {},
): Command {
  if (place.isDefault) keepDefault(parent);
  const command = parent.command(usage, place);
  return command
    .configureHelp({ ...command.configureHelp(), visibleOptions: commonLast })
    .summary(place.isDefault ? `${summary} (default)` : summary)
    .description(description ?? `${summary[0]?.toUpperCase()}${summary.slice(1)}.`)
    .option('--json', 'print the response of the API as JSON')
    .option('--url <url>', 'the server (RASKET_URL)')
    .option(
      '--api-key <key>',
      'the API key; prefer RASKET_API_KEY, because other users of this machine can see command lines',
    )
    .option('--profile <name>', 'use the server and the key that login stored under this name (RASKET_PROFILE)')
    .option('--data <dir>', 'use the address and the key of the development server with this data folder')
    .addHelpText('after', formatExample(example));
}

/** Formats the example of a help page from the words after the program’s name. */
export const formatExample = (words: string): string => `\nExample:\n  ${['rasket', words].join(' ')}`;

/** Lists the command's own options first, because they are what its reader looks for. */
function commonLast(this: Help, command: Command): Option[] {
  const options = Help.prototype.visibleOptions.call(this, command);
  return [...options.filter((option) => !isCommon(option)), ...options.filter(isCommon)];
}

type Perform = (session: Session, words: (string | undefined)[], options: never) => Promise<void>;

/** Decides what each command of a family needs before it can call the API. */
export const decideNeeds = ({ isOperators }: Pick<Family, 'isOperators'>): Needs => ({
  key: true,
  operator: isOperators === true,
});

/** Wraps a verb as the action of its command. Its modules are loaded when it is called. */
export function act(perform: Perform, needs: Needs = { key: true }) {
  return async (...given: unknown[]): Promise<void> => {
    const command = given.at(-1) as Command;
    const options = given.at(-2) as CommonOptions;
    const { inSession } = await import('./session.ts');
    await inSession(command, options, needs, (session) =>
      perform(session, given.slice(0, -2) as string[], options as never),
    );
  };
}

export function wholeNumber(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number.');
}
