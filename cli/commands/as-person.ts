import { ApiFault, createClient, isInClear, type Browser, type Client } from '../client/index.ts';
import { clean, CliFault, type CommandProcess, type Terminal } from '../output/index.ts';
import { readLine, readSecret } from './stdin.ts';
import { tellWaits } from './tell-waits.ts';

export interface AtServer {
  url: string;
  version: string;
  terminal: Terminal;
  process: CommandProcess;
  /** Where the server cannot be at its address any more. */
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
 * Signs a person in with password and, where there is one, second factor, for as long as `work` takes: what a program that was
 * let in may not do, a person may who has typed both. Nothing that is typed is a word of the command, is shown or is kept.
 */
export async function asPerson<T>(at: AtServer, email: string | undefined, work: (as: SignedIn) => Promise<T>) {
  const { url, process } = at;
  if (!process.stdin.isTTY || !process.stderr.isTTY)
    throw new CliFault('a password is typed at a terminal, and there is none here.', 'usage');
  if (isInClear(url))
    throw new CliFault(`${url} is not encrypted: every host on the way could read the password. Use https.`, 'usage');
  const browser: Browser = { origin: await originOf(at), cookies: new Map() };
  const client = clientOf(at, browser);
  const who = email ?? needed((await readLine(process, 'Email: ')).trim());
  const password = needed(await readSecret(process, `Password of ${clean(who)}: `));
  const answer = await client.call('logIn', { body: { email: who, password } });
  if (answer.object === 'mfa_challenge') await answerChallenge(process, client, answer.challenge_token);
  try {
    return await work({ client, password });
  } finally {
    // It ends by itself where this fails.
    await client.call('logOut', { body: {} }).catch(() => undefined);
  }
}

const clientOf = ({ url, version, terminal, mustBeThere }: AtServer, browser?: Browser): Client =>
  tellWaits(createClient({ url, version, mustBeThere, ...(browser && { browser }) }), terminal);

/** The public address of the server, which it compares with, may be another one than is called here. */
async function originOf(at: AtServer): Promise<string> {
  const { issuer } = await clientOf(at).call('getAuthorizationServer', {});
  return URL.canParse(issuer) ? new URL(issuer).origin : new URL(at.url).origin;
}

const answerChallenge = (process: CommandProcess, client: Client, challenge_token: string) =>
  withCode(process, 'Code of your app, or a recovery code: ', (typed) =>
    /^[\d\s]+$/.test(typed)
      ? client.call('verifyMfa', { body: { challenge_token, code: typed } })
      : client.call('recoverMfa', { body: { challenge_token, recovery_code: typed } }),
  );

/** Asks for a code, which nobody sees, and once more where it is wrong. */
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
  if (typed === '') throw new CliFault('nothing was typed, and nothing was changed.');
  return typed;
}
