import { isSession, startOf, type Advice, type Target } from '../client/index.ts';

/** Where a key came from and what it was for, to say which one is to be changed, and how. */
export type KeyInUse = Pick<Target, 'url' | 'apiKey' | 'keyFrom' | 'development'>;

const PASS = 'rkmp_';
const isPass = (key: KeyInUse | undefined): boolean => key?.apiKey?.startsWith(PASS) ?? false;

const logIn = (words: string, key: KeyInUse | undefined): Advice => ({
  words,
  command: key === undefined ? ['login'] : ['login', '--url', key.url],
});

/** Without the option a browser comes first. */
const keepKey = (words: string, key: KeyInUse | undefined): Advice => ({
  words,
  command: key === undefined ? ['login', '--api-key'] : ['login', '--url', key.url, '--api-key'],
});

export const sayRefused = (key: KeyInUse | undefined): string =>
  key === undefined
    ? 'The API key was not accepted (invalid_api_key).'
    : isPass(key)
      ? `The pass of this machine was not accepted by ${key.url} (invalid_api_key).`
      : isSession(key.apiKey)
        ? `The session in ${key.keyFrom} has ended at ${key.url} (invalid_api_key).`
        : `The API key in ${key.keyFrom} was not accepted by ${key.url} (invalid_api_key).`;

/** What gives another key than one that is not accepted. */
export function renew(key: KeyInUse | undefined): Advice {
  if (isPass(key))
    return {
      words: 'If that server runs another version of the program, start it again; look at it with',
      command: ['doctor'],
    };
  if (key?.keyFrom === '--api-key' || key?.keyFrom === 'RASKET_API_KEY')
    return keepKey('Correct it there, or take it away and keep one with', key);
  if (key?.development && key.keyFrom === key.development.file)
    return {
      words: 'Start that server again, which makes one that works',
      command: startOf(key.development.data),
    };
  return isSession(key?.apiKey) ? signInAs('Sign in again with', key) : setOne(key);
}

/** For what takes a person. */
export const signInAs = (words: string, key: KeyInUse | undefined): Advice => logIn(words, key);

export const setOne = (key: KeyInUse | undefined): Advice => logIn('Set one with', key);

/** For a key that is good, and not allowed to. */
export const useAnother = (key: KeyInUse | undefined): Advice =>
  keepKey(
    `Use another key${key === undefined ? '' : ` than that in ${key.keyFrom}`}, with --api-key, or keep one with`,
    key,
  );

/** Prefixes of an operator's token and of the pass of a machine. */
const OF_OPERATORS: readonly string[] = ['rkop_', PASS];

export const isOperators = (key: Pick<KeyInUse, 'apiKey'> | undefined): boolean =>
  OF_OPERATORS.some((prefix) => key?.apiKey?.startsWith(prefix) === true);

/** Advice on the credential that a command for operators needs. */
export const beOperator: readonly Advice[] = [
  {
    words:
      'As root on the server’s machine it takes no key. Elsewhere take that of an operator, with --profile operator once it is kept.',
    isForLine: true,
  },
  { words: 'One is made on the server with', command: ['operators create', 'NAME'] },
];
