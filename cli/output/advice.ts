import { BY_HAND, quoted, type Advice, type Advised } from '../client/index.ts';
import { everyFamily } from './every-family.ts';

/** Puts an advice into the words of its reader; undefined where it is of no help there. */
export type Say = (advice: Advice) => string | undefined;

/** What was typed to choose the server: a command that is advised goes to the same one. */
export interface Chosen {
  options: readonly (readonly [flag: string, value: string])[];
  isKeyTyped: boolean;
}

const SERVER = ['--url', '--profile', '--data'] as const;

/** For the command line: the command stands last, so that it is copied as it is. */
export const sayOnLine =
  ({ options, isKeyTyped }: Chosen = { options: [], isKeyTyped: false }): Say =>
  ({ words, command }) => {
    if (!command) return words;
    const [called, ...behind] = command;
    const taken: readonly string[] = behind.includes('--help') ? [] : isByHand(called) ? BY_HAND[called] : SERVER;
    const server = options.filter(([flag]) => taken.includes(flag) && !behind.includes(flag)).flat();
    const typed = ['rasket', ...wordsOf(called), ...[...server, ...behind].map(quoted)].join(' ');
    return `${words}: ${typed}${isKeyTyped && taken.includes('--data') ? keyOf('--api-key') : ''}`;
  };

/** A key is a secret: it is said where it comes from. */
export const keyOf = (keyFrom: string): string =>
  ['--api-key', 'RASKET_API_KEY'].includes(keyFrom) ? ` (with the key of ${keyFrom})` : '';

export const isByHand = (called: Advised[0]): called is keyof typeof BY_HAND => called in BY_HAND;

/** The words behind `rasket` that call it. */
function wordsOf(called: Advised[0]): string[] {
  if (isByHand(called)) return called.split(' ');
  for (const { command, list, get, report, actions = [] } of everyFamily) {
    const found = [list, get, report, ...actions].find((one) => one?.operation === called);
    if (!found) continue;
    const isAlone = ('isBeside' in found && found.isBeside) || found.verb === command;
    return [...(isAlone ? [] : [command]), ...(found.verb === '' ? [] : [found.verb])];
  }
  throw new Error(`no family has ${called}`);
}
