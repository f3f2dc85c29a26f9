import {
  ApiFault,
  checkKey,
  checkProfile,
  chosenProfile,
  createClient,
  chooseDataFolder,
  DEFAULT_URL,
  describeStore,
  isSession,
  keepKey,
  keptSession,
  moveIntoKeyring,
  readDevelopment,
  readUrl,
  type Client,
  type Environment,
} from '../client/index.ts';
import { clean, CliFault, createLineFormatter, type CommandProcess, type Terminal } from '../output/index.ts';
import { endKept } from './logout.ts';
import { mustSpeakThisApi, signIn, signInByPassword, type SignIn } from './sign-in.ts';
import { readSecret } from './stdin.ts';
import { showWaits } from './session.ts';

interface Surroundings {
  terminal: Terminal;
  version: string;
  process: CommandProcess;
  wait?: SignIn['wait'];
}

/** `apiKey` without a value asks for the key. */
export interface LoginOptions {
  url?: string;
  apiKey?: string | true;
  /** Typed here, in the place of a browser. */
  password?: true;
  profile?: string;
}

/**
 * Signs a person in, or stores a key: one that is named, typed or, without a terminal, read from standard input. A key
 * that the server refuses is not stored: the former one may still be valid.
 */
export async function login({ terminal, version, process, wait }: Surroundings, options: LoginOptions): Promise<void> {
  const { env } = process;
  const profile = options.profile ?? (env.RASKET_PROFILE || undefined);
  if (profile !== undefined) checkProfile(profile);
  const url = readUrl(
    options.url ?? (env.RASKET_URL || addressNearby(process)),
    options.url === undefined ? 'RASKET_URL' : '--url',
  );
  const apiKey = await readCredential({ terminal, version, process, ...(wait && { wait }) }, url, options);
  const client = showWaits(createClient({ url, apiKey, version }), terminal);
  await mustSpeakThisApi(url, version, terminal);
  const who = await tryKey(client, apiKey);
  const before = formerSession(env, profile);
  const kept = keepKey(env, { url, api_key: apiKey }, profile);
  if (who !== undefined) terminal.print(who);
  const what = isSession(apiKey) ? 'session' : 'key';
  terminal.print(`The ${what} for ${url} is stored in ${describeStore(kept.file, kept)}.`);
  // The former token is not stored anywhere any more.
  if (before && before.api_key !== apiKey) await endKept(before, version);
  for (const moved of kept.by ? moveIntoKeyring(env) : [])
    terminal.print(
      `The key of ${moved === undefined ? 'the login without a profile' : `profile ${moved}`} was moved from its file into the keyring.`,
    );
  const say = createLineFormatter();
  if (profile !== undefined)
    terminal.hint(
      say({ words: `Use it with --profile ${profile}, or make it the default with`, command: ['use', profile] }) ?? '',
    );
  else if (chosenProfile(env) !== undefined)
    terminal.hint(
      say({ words: `Profile ${chosenProfile(env)} stays in use. Stop using it with`, command: ['use', '--none'] }) ??
        '',
    );
  if (env.RASKET_API_KEY) terminal.hint('RASKET_API_KEY is also set, and takes precedence.');
}

async function readCredential(
  { terminal, version, process, wait }: Surroundings,
  url: string,
  { apiKey, password }: LoginOptions,
): Promise<string> {
  if (password) return signInByPassword({ url, version, terminal, process });
  if (apiKey !== undefined || !process.stdin.isTTY || !terminal.isTty) return readKey(process, url, apiKey);
  const client = showWaits(createClient({ url, version }), terminal);
  return signIn({ client, terminal, env: process.env, ...(wait && { wait }) });
}

/** Returns the address of the development server that other commands use, while it runs. */
function addressNearby({ env, cwd }: CommandProcess): string {
  const near = readDevelopment(chooseDataFolder(undefined, env, cwd()), cwd());
  return near?.isRunning() ? near.url : DEFAULT_URL;
}

async function readKey(process: CommandProcess, url: string, given: LoginOptions['apiKey']): Promise<string> {
  const isGiven = typeof given === 'string';
  const typed = isGiven ? given : await readSecret(process, `API key for ${url}: `);
  return checkKey(typed, isGiven ? '--api-key' : 'standard input');
}

/** Makes the cheapest call that the key permits; for a session, returns its person. */
async function tryKey(client: Client, apiKey: string): Promise<string | undefined> {
  try {
    if (isSession(apiKey)) {
      const { user, current_team: team } = await client.call('getSession', {});
      return `Signed in as ${clean(user.email)}${team ? `, in the team ${clean(team.name)}` : ', in no team'}.`;
    }
    await (apiKey.startsWith('rkop_')
      ? client.call('listQueueHolds', { query: { limit: 1 } })
      : client.call('listEmails', { query: { limit: 1 } }));
  } catch (error) {
    // A key that may only send is refused here, but is valid all the same.
    if (!(error instanceof ApiFault) || !isSendingKey(error)) throw explainWhichKey(error);
  }
  return undefined;
}

/** A login that cannot be read is overwritten. */
function formerSession(env: Environment, profile: string | undefined): ReturnType<typeof keptSession> {
  try {
    return keptSession(env, profile);
  } catch {
    return undefined;
  }
}

export const isSendingKey = (fault: ApiFault): boolean =>
  fault.body.name === 'restricted_api_key' && fault.status === 401;

function explainWhichKey(error: unknown): unknown {
  if (!(error instanceof ApiFault) || error.body.name !== 'invalid_api_key') return error;
  return new CliFault('The server did not accept the API key (invalid_api_key); nothing was changed.', 'auth', {
    words: 'On the server’s machine, create a team and its first key with',
    command: ['teams create', 'NAME'],
  });
}
