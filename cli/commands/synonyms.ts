/**
 * Words from habit: names that other mail servers and command lines give to what rasket has under another name. Help
 * does not list them. They are replaced before a line is parsed, so that output, errors and advice name the command.
 */

/** Returns the words of the command that is meant, given those after the synonym. */
type Replace = (rest: readonly string[]) => string[];

const nameCommand =
  (command: string): Replace =>
  (rest) => [...command.split(' '), ...rest];

/** Gives the first word after the command to an option, which `choose` names; `alone` is added if nothing follows. */
const nameOption =
  (command: string, choose: (word: string) => string, alone: readonly string[] = []): Replace =>
  (rest) => {
    const [word, ...others] = rest;
    if (word === undefined) return [...command.split(' '), ...alone];
    return [...command.split(' '), ...(word.startsWith('-') ? rest : [choose(word), word, ...others])];
  };

/** Returns the option of a queue command for a word: a domain has a dot, and an email is named by its id. */
const chooseMail = (word: string): string => (word.includes('.') ? '--destination' : '--email');

/** Sends a sample of the given type, or to the given endpoint one of a type that every endpoint can take. */
const triggerSample: Replace = ([word, ...rest]) => {
  const isType = word === undefined || word.startsWith('-') || /^[a-z_]+(?:\.[a-z_]+)+$/.test(word);
  const sample = ['webhooks', 'trigger'];
  return isType
    ? [...sample, ...(word === undefined ? [] : [word]), ...rest]
    : [...sample, SAMPLE, '--endpoint', word, ...rest];
};
/** Rejects all calls of an app with `--app`, and a single call without. */
const rejectCalls: Replace = (rest) => {
  const at = rest.findIndex((word) => word === '--app' || word.startsWith('--app='));
  if (at === -1) return ['approvals', 'reject', ...rest];
  const [option = '', value] = (rest[at] ?? '').split(/=(.*)/s);
  const app = value ?? rest[at + 1];
  const others = rest.toSpliced(at, option === rest[at] ? 2 : 1);
  return ['approvals', 'reject-all', ...(app === undefined ? [] : [app]), ...others];
};
const SAMPLE = 'email.delivered';

const SYNONYMS: Readonly<Record<string, Replace>> = {
  'approvals reject': rejectCalls,
  cert: nameCommand('tls'),
  certificate: nameCommand('tls'),
  certificates: nameCommand('tls'),
  certs: nameCommand('tls'),
  'config get': nameCommand('config show'),
  dkim: nameCommand('domains'),
  dns: nameCommand('domains zone'),
  'domains dns': nameCommand('domains zone'),
  'domains records': nameCommand('domains get'),
  'emails explain': nameCommand('explain'),
  'emails trace': nameCommand('explain'),
  'emails why': nameCommand('explain'),
  flush: nameCommand('queue flush'),
  mailq: nameCommand('queue'),
  plan: nameCommand('teams plans'),
  plans: nameCommand('teams plans'),
  'queue describe': nameCommand('queue explain'),
  'queue drop': nameOption('queue drop', chooseMail),
  'queue flush': nameOption('queue retry', chooseMail, ['--all']),
  'queue get': nameCommand('queue explain'),
  'queue hold': nameOption('queue hold', chooseMail),
  'queue retry': nameOption('queue retry', chooseMail),
  'queue trace': nameCommand('queue explain'),
  'queue why': nameCommand('queue explain'),
  statistics: nameCommand('metrics'),
  stats: nameCommand('metrics'),
  suppress: nameCommand('suppressions add'),
  top: nameCommand('console'),
  trace: nameCommand('explain'),
  unsuppress: nameCommand('suppressions remove'),
  'webhooks ping': triggerSample,
  'webhooks test': triggerSample,
  why: nameCommand('explain'),
};

/** Options from habit, by the command that takes others instead. */
const OPTIONS: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  'emails list': {
    '--bounced': ['--status', 'bounced'],
    '--failed': ['--status', 'bounced'],
    '--from': ['--search'],
    '--to': ['--search'],
  },
};

/** Lists the commands that a word could mean, each with its purpose. */
const MEANT: Readonly<Record<string, readonly string[]>> = {
  export: ['contacts export', 'backup FOLDER for the whole installation'],
  import: ['contacts import FILE'],
  pause: ['queue hold for a part of the mail', 'sending off for all of it'],
  resume: ['queue release HOLD for a part of the mail', 'sending on for all of it'],
  test: ['send', 'relays test NAME', 'webhooks trigger TYPE'],
};

/** Names the program that does what a word asks for, such as the service manager. */
const DONE_ELSEWHERE: Readonly<Record<string, string>> = {
  reload:
    'The server reads its certificates by itself. For other settings, restart the service: systemctl restart rasket',
  start: 'Start the service with: systemctl start rasket',
  stop: 'Stop the service with: systemctl stop rasket',
  uninstall: 'The script that installed the service removes it: install.sh --uninstall',
};

/** Returns the plural of a noun, which names a family of commands: `domains` for `domain`. */
export const toPlural = (noun: string): string => `${noun.replace(/(?<=[^aeiou])y$/, 'ie')}s`;

/** Returns the words that are meant by the words after `from`, of which the first may be a noun in the singular. */
export function replaceSynonym(words: readonly string[]): string[] {
  const [first = '', second, ...rest] = words;
  if (first === 'help') return ['help', ...replaceSynonym(words.slice(1))];
  for (const noun of [first, toPlural(first)]) {
    const ofTwo = second === undefined ? undefined : findSynonym(`${noun} ${second}`);
    if (ofTwo) return replaceAgain(ofTwo(rest), `${noun} ${second}`);
    const ofOne = findSynonym(noun);
    if (ofOne) return replaceAgain(ofOne(words.slice(1)), noun);
  }
  return [...words];
}

/** Replaces again, because `flush` is `queue flush`; the same command with other options is final. */
const replaceAgain = (words: readonly string[], typed: string): string[] =>
  words.slice(0, typed.split(' ').length).join(' ') === typed ? [...words] : replaceSynonym(words);

const findSynonym = (typed: string): Replace | undefined =>
  Object.hasOwn(SYNONYMS, typed) ? SYNONYMS[typed] : undefined;

/** Replaces options of a command, up to `--`, after which nothing is an option. */
export function replaceOptions(command: string, words: readonly string[]): string[] {
  const known = OPTIONS[command];
  if (!known) return [...words];
  const end = words.indexOf('--');
  return words.flatMap((word, at) => {
    const [option = '', value] = word.split(/=(.*)/s);
    if ((end !== -1 && at > end) || !Object.hasOwn(known, option)) return [word];
    return [...(known[option] ?? []), ...(value === undefined ? [] : [value])];
  });
}

/** Lists the synonyms after some words of a command, each with the single word there that it stands for. */
export const listSynonyms = (path: readonly string[]): [word: string, meant: string][] =>
  Object.entries(SYNONYMS).flatMap(([typed, replace]) => {
    const words = typed.split(' ');
    const meant = replaceAgain(replace([]), typed);
    const isHere =
      words.length === path.length + 1 && path.every((word, at) => words[at] === word && meant[at] === word);
    const [word = '', stands = ''] = [words.at(-1), meant[path.length]];
    return isHere && word !== stands && (path.length > 0 || meant.length === 1) ? [[word, stands]] : [];
  });

/** Returns advice for a word that is no command. */
export function findHint(word: string): string | undefined {
  if (Object.hasOwn(DONE_ELSEWHERE, word)) return DONE_ELSEWHERE[word];
  if (!Object.hasOwn(MEANT, word)) return undefined;
  const commands = (MEANT[word] ?? []).map((command) => ['rasket', command].join(' '));
  const last = commands.slice(-1).map((command) => (commands.length > 1 ? `or ${command}` : command));
  return `Did you mean ${[...commands.slice(0, -1), ...last].join(', ')}?`;
}
