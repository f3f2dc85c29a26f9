import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  ApiFault,
  NoAnswer,
  createClient,
  isInClear,
  type AnswerOf,
  type Client,
  type Environment,
  type Browser,
} from '../client/index.ts';
import { clean, CliFault, openInBrowser, type Terminal, type CommandProcess } from '../output/index.ts';
import { readLine, readSecret } from './stdin.ts';
import { showWaits } from './session.ts';

interface AtServer {
  url: string;
  version: string;
  terminal: Terminal;
  process: CommandProcess;
  /** Throws when the server cannot be at its address any more. */
  mustBeThere?: (() => void) | undefined;
}

export interface SignedIn {
  /** Acts as this person's browser does. */
  client: Client;
  /** Just typed; some operations ask for it again. */
  password: string;
}

/** How often a code may be mistyped. */
const TRIES = 3;

/**
 * Signs a person in with password and, if there is one, second factor, for as long as `work` takes: an authorized
 * program may not do this, but a person who has typed both may. Nothing that is typed becomes a word of the command, is
 * shown or is stored.
 */
export async function asPerson<T>(at: AtServer, email: string | undefined, work: (as: SignedIn) => Promise<T>) {
  const { url, process } = at;
  if (!process.stdin.isTTY || !process.stderr.isTTY)
    throw new CliFault('a password can only be typed at a terminal, and there is none.', 'usage');
  if (isInClear(url))
    throw new CliFault(
      `${url} is not encrypted: every host on the network path could read the password. Use https.`,
      'usage',
    );
  at.mustBeThere?.();
  await mustSpeakThisApi(url, at.version, at.terminal);
  const browser: Browser = { origin: await fetchOrigin(at), cookies: new Map() };
  const client = createServerClient(at, browser);
  const who = email ?? needed((await readLine(process, 'Email: ')).trim());
  const password = needed(await readSecret(process, `Password of ${clean(who)}: `));
  const answer = await client.call('logIn', { body: { email: who, password } });
  if (answer.object === 'mfa_challenge') await answerChallenge(process, client, answer.challenge_token);
  try {
    return await work({ client, password });
  } finally {
    // The session expires by itself if this fails.
    await client.call('logOut', { body: {} }).catch(() => undefined);
  }
}

const createServerClient = ({ url, version, terminal, mustBeThere }: AtServer, browser?: Browser): Client =>
  showWaits(createClient({ url, version, mustBeThere, ...(browser && { browser }) }), terminal);

/** The public address of the server, which it compares with, may differ from the one that is called here. */
async function fetchOrigin(at: AtServer): Promise<string> {
  const { issuer } = await createServerClient(at).call('getAuthorizationServer', {});
  return URL.canParse(issuer) ? new URL(issuer).origin : new URL(at.url).origin;
}

const answerChallenge = (process: CommandProcess, client: Client, challenge_token: string) =>
  withCode(process, 'Code from your app, or a recovery code: ', (typed) =>
    /^[\d\s]+$/.test(typed)
      ? client.call('verifyMfa', { body: { challenge_token, code: typed } })
      : client.call('recoverMfa', { body: { challenge_token, recovery_code: typed } }),
  );

/** Asks for a code without showing it, and again if it is wrong. */
export async function withCode<T>(
  process: CommandProcess,
  prompt: string,
  use: (typed: string) => Promise<T>,
): Promise<T> {
  for (let left = TRIES - 1; ; left--) {
    const typed = needed((await readSecret(process, prompt)).trim());
    try {
      return await use(typed);
    } catch (error) {
      if (left === 0 || !isWrongCode(error)) throw error;
      process.stderr.write(`${clean(error.body.message)}\n`);
    }
  }
}

const isWrongCode = (error: unknown): error is ApiFault =>
  error instanceof ApiFault &&
  (error.body.errors ?? []).some(({ path }) => path === 'code' || path === 'recovery_code');

function needed(typed: string): string {
  if (typed === '') throw new CliFault('nothing was typed; nothing was changed.');
  return typed;
}

type Begun = AnswerOf<'beginDeviceLogin'>;

export interface SignIn {
  client: Client;
  terminal: Terminal;
  env: Environment;
  /** Replaces waiting, so that a test need not wait. */
  wait?: (ms: number) => Promise<unknown>;
}

const NAME_CHARS_MAX = 100;
const PROGRAM = 'rasket';

/** Signs a person in with a browser, of this machine or of any other; returns the token of the session. */
export async function signIn({ client, terminal, env, wait = sleep }: SignIn): Promise<string> {
  const begun = await begin(client);
  terminal.print(`Open ${clean(begun.verification_url)} in a browser and enter the code: ${clean(begun.user_code)}`);
  const url = begun.verification_url_complete;
  const isOpened = isWeb(url) && (await openInBrowser(env, url));
  terminal.hint(
    `${isOpened ? 'The page was opened in your browser. ' : ''}The code expires in ten minutes. Press Ctrl-C to stop. To sign in at the terminal, use --password; to store a key, use --api-key.`,
  );
  try {
    return await waitForPerson({ client, terminal, env, wait }, begun);
  } finally {
    terminal.progress('');
  }
}

/**
 * Signs a person in with the password and, if there is one, the second factor, typed here; returns the token of the
 * session. The signed-in person approves this program as they would in a browser.
 */
export const signInByPassword = (at: AtServer): Promise<string> =>
  asPerson(at, undefined, async ({ client }) => {
    const { user_code, device_code } = await begin(client);
    await client.call('approveDeviceLogin', { body: { user_code } });
    const { token } = await client.call('pollDeviceLogin', { body: { device_code } });
    if (token === null) throw new CliFault('the server did not start a session; nothing was changed.');
    return token;
  });

/** Hands an address of the server to the desktop only if it is an address of the web. */
const isWeb = (url: string): boolean => URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);

async function begin(client: Client): Promise<Begun> {
  const name = `${PROGRAM} on ${hostname().replaceAll(/[^\w.-]+/g, '-')}`.slice(0, NAME_CHARS_MAX);
  try {
    return await client.call('beginDeviceLogin', { body: { client_name: name } });
  } catch (error) {
    if (!(error instanceof ApiFault) || (error.status !== 404 && error.status !== 405)) throw error;
    throw new CliFault(
      'this server does not support signing in from a terminal; it is older than this command.',
      'refused',
      {
        words: 'Store a key with',
        command: ['login', '--url', client.url, '--api-key'],
      },
    );
  }
}

async function waitForPerson({ client, terminal, wait = sleep }: SignIn, begun: Begun): Promise<string> {
  const again = { words: 'Start again with', command: ['login', '--url', client.url] } as const;
  for (;;) {
    terminal.progress('Waiting for your approval in the browser …');
    await wait(begun.interval * 1000);
    const answer = await ask(client, begun.device_code);
    if (answer === undefined || answer.status === 'pending') continue;
    if (answer.status === 'approved' && answer.token !== null) return answer.token;
    if (answer.status === 'denied')
      throw new CliFault('the sign-in was denied in the browser; nothing was changed.', 'auth');
    throw new CliFault('the code has expired; nothing was changed.', 'failed', again);
  }
}

/** Returns undefined if nobody responded: a server that restarts has not forgotten the code. */
async function ask(client: Client, code: string): Promise<AnswerOf<'pollDeviceLogin'> | undefined> {
  try {
    return await client.call('pollDeviceLogin', { body: { device_code: code } });
  } catch (error) {
    if (error instanceof NoAnswer) return undefined;
    throw error;
  }
}

/**
 * Any program may listen on the usual address: this asks without a key or a password, so that no other program receives
 * them.
 */
export async function mustSpeakThisApi(url: string, version: string, terminal: Terminal): Promise<void> {
  try {
    await showWaits(createClient({ url, version }), terminal).call('listEmails', { query: { limit: 1 } });
  } catch (error) {
    // A refusal shows that it speaks this API.
    if (!(error instanceof ApiFault)) throw error;
  }
}
