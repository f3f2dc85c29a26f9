import type { ContractId } from './routes.ts';

/** The options that select the server of a command. */
const ANY = ['--url', '--profile', '--data'] as const;

/** The commands that are more than one call, or none, with the options of a server that each takes. */
export const BY_HAND = {
  'account mfa enable': ANY,
  console: ANY,
  'contacts import-failures': ANY,
  dev: [],
  doctor: ANY,
  explain: ANY,
  help: [],
  login: ['--url', '--profile'],
  logout: [],
  'operators create': [],
  profiles: [],
  ready: ANY,
  sending: [],
  serve: [],
  'teams create': [],
  'teams resume': [],
  use: [],
  'webhooks listen': ANY,
  'webhooks replay': ANY,
  whoami: ANY,
} as const satisfies Readonly<Record<string, readonly (typeof ANY)[number][]>>;

export type ByHand = keyof typeof BY_HAND;

/** A call, named by its operation or by its command, and the words after it: `['releaseQueueHold', id]`. */
export type Advised = readonly [called: ContractId | ByHand, ...words: string[]];

/**
 * A next step that helps. A command is never part of the sentence: the command line says `rasket queue holds`, and the
 * console names a screen or a key.
 */
export interface Advice {
  words: string;
  command?: Advised;
  /** It helps only at the command line. */
  isForLine?: true;
}

export type Advices = Advice | readonly Advice[] | undefined;

export const listOfAdvice = (advices: Advices): readonly Advice[] =>
  advices === undefined ? [] : 'words' in advices ? [advices] : advices;

/** Advises to list what exists. */
export const seeWhatThereIs = (...command: Advised): Advice => ({ words: 'List them with', command });

/** Quotes a word for a shell if necessary. */
export const quoted = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
