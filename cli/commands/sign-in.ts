import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { ApiFault, NoAnswer, type AnswerOf, type Client, type Environment } from '../client/index.ts';
import { clean, CliFault, type Terminal } from '../output/index.ts';
import { asPerson, type AtServer } from './as-person.ts';
import { openInBrowser } from './open-in-browser.ts';

type Begun = AnswerOf<'beginDeviceLogin'>;

export interface SignIn {
  client: Client;
  terminal: Terminal;
  env: Environment;
  /** How to wait, so that a test need not. */
  wait?: (ms: number) => Promise<unknown>;
}

const NAME_CHARS_MAX = 100;
const PROGRAM = 'rasket';

/** Signs a person in with a browser, of this machine or of any other; answers the token of the session. */
export async function signIn({ client, terminal, env, wait = sleep }: SignIn): Promise<string> {
  const begun = await begin(client);
  terminal.print(`Open ${clean(begun.verification_url)} where you are signed in, and type: ${clean(begun.user_code)}`);
  const url = begun.verification_url_complete;
  const isOpened = isWeb(url) && (await openInBrowser(env, url));
  terminal.hint(
    `${isOpened ? 'A browser shows it too. ' : ''}The code works for ten minutes. Ctrl-C stops; --password signs you in here instead, --api-key keeps a key.`,
  );
  try {
    return await waitForPerson({ client, terminal, env, wait }, begun);
  } finally {
    terminal.progress('');
  }
}

/**
 * Signs a person in with the password and, where there is one, the second factor, typed here; answers the token of the session.
 * The person, signed in so, approves this program as they would in a browser.
 */
export const signInByPassword = (at: AtServer): Promise<string> =>
  asPerson(at, undefined, async ({ client }) => {
    const { user_code, device_code } = await begin(client);
    await client.call('approveDeviceLogin', { body: { user_code } });
    const { token } = await client.call('pollDeviceLogin', { body: { device_code } });
    if (token === null) throw new CliFault('the server began no session, and nothing was changed.');
    return token;
  });

/** What a server answers is not handed to the desktop unless it is an address of the web. */
const isWeb = (url: string): boolean => URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);

async function begin(client: Client): Promise<Begun> {
  const name = `${PROGRAM} on ${hostname().replaceAll(/[^\w.-]+/g, '-')}`.slice(0, NAME_CHARS_MAX);
  try {
    return await client.call('beginDeviceLogin', { body: { client_name: name } });
  } catch (error) {
    if (!(error instanceof ApiFault) || (error.status !== 404 && error.status !== 405)) throw error;
    throw new CliFault('this server signs nobody in at a terminal; it is older than this command.', 'refused', {
      words: 'Keep a key with',
      command: ['login', '--url', client.url, '--api-key'],
    });
  }
}

async function waitForPerson({ client, terminal, wait = sleep }: SignIn, begun: Begun): Promise<string> {
  const again = { words: 'Begin anew with', command: ['login', '--url', client.url] } as const;
  for (;;) {
    terminal.progress('Waiting for you to approve it in the browser …');
    await wait(begun.interval * 1000);
    const answer = await ask(client, begun.device_code);
    if (answer === undefined || answer.status === 'pending') continue;
    if (answer.status === 'approved' && answer.token !== null) return answer.token;
    if (answer.status === 'denied')
      throw new CliFault('it was denied in the browser, and nothing was changed.', 'auth');
    throw new CliFault('the code has expired, and nothing was changed.', 'failed', again);
  }
}

/** Undefined where nobody answered: a server that starts again has not forgotten. */
async function ask(client: Client, code: string): Promise<AnswerOf<'pollDeviceLogin'> | undefined> {
  try {
    return await client.call('pollDeviceLogin', { body: { device_code: code } });
  } catch (error) {
    if (error instanceof NoAnswer) return undefined;
    throw error;
  }
}
