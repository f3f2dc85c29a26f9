import { BY_HAND, quoted, type Advice, type Advised } from '../client/index.ts';
import * as declared from '../families/index.ts';

/** A new family is here as soon as cli/families has it. */
export const everyFamily: readonly declared.Family[] = Object.values(declared).filter(
  (value): value is never => typeof value === 'object',
);

/** Words an advice for its reader; undefined if it is of no help there. */
export type FormatAdvice = (advice: Advice) => string | undefined;

/** The options that chose the server: an advised command goes to the same one. */
export interface Chosen {
  options: readonly (readonly [flag: string, value: string])[];
  isKeyTyped: boolean;
}

const SERVER = ['--url', '--profile', '--data'] as const;

/** For the command line: the command comes last, so that it can be copied. */
export const createLineFormatter =
  ({ options, isKeyTyped }: Chosen = { options: [], isKeyTyped: false }): FormatAdvice =>
  ({ words, command }) => {
    if (!command) return words;
    const [called, ...behind] = command;
    const taken: readonly string[] = behind.includes('--help') ? [] : isByHand(called) ? BY_HAND[called] : SERVER;
    const server = options.filter(([flag]) => taken.includes(flag) && !behind.includes(flag)).flat();
    const typed = ['rasket', ...toCommandWords(called), ...[...server, ...behind].map(quoted)].join(' ');
    const start = words === '' ? '' : `${words}: `;
    return `${start}${typed}${isKeyTyped && taken.includes('--data') ? formatKeyOrigin('--api-key') : ''}`;
  };

/** A key is a secret: only its origin is printed. */
export const formatKeyOrigin = (keyFrom: string): string =>
  ['--api-key', 'RASKET_API_KEY'].includes(keyFrom) ? ` (with the key of ${keyFrom})` : '';

export const isByHand = (called: Advised[0]): called is keyof typeof BY_HAND => called in BY_HAND;

/**
 * Words the commands that a response of the API advises. A command that calls the API goes to the server that was
 * asked; any other command for the server's machine is shown unchanged.
 */
export const commandsIn =
  (say: FormatAdvice) =>
  (line: string): string => {
    const command = callIn(line);
    return (command && say({ words: '', command })) ?? line;
  };

function callIn(line: string): Advised | undefined {
  const [program, ...words] = line.split(' ');
  if (program !== 'rasket') return undefined;
  const operations = everyFamily.flatMap(({ list, get, report, actions = [] }) =>
    [list, get, report, ...actions].flatMap((one) => (one ? [one.operation] : [])),
  );
  // `queue` is `queue show`.
  for (const typed of [words, [...words, 'show']]) {
    const [longest] = operations
      .map((operation) => ({ operation, path: toCommandWords(operation) }))
      .filter(({ path }) => path.every((word, at) => word === typed[at]))
      .toSorted((one, other) => other.path.length - one.path.length);
    if (longest) return [longest.operation, ...typed.slice(longest.path.length)];
  }
  return undefined;
}

/** Returns the words after `rasket` that call it, as one text. */
export const formatCommand = (called: Advised[0]): string => toCommandWords(called).join(' ');

/** Returns the words after `rasket` that call it. */
function toCommandWords(called: Advised[0]): string[] {
  if (isByHand(called)) return called.split(' ');
  for (const { command, list, get, report, actions = [] } of everyFamily) {
    const found = [list, get, report, ...actions].find((one) => one?.operation === called);
    if (!found) continue;
    const isAlone = ('isBeside' in found && found.isBeside) || found.verb === command;
    return [...(isAlone ? [] : [command]), ...(found.verb === '' ? [] : found.verb.split(' '))];
  }
  throw new Error(`no command family has the operation ${called}`);
}
