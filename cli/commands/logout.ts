import {
  ApiFault,
  createClient,
  CredentialsFault,
  forgetKey,
  keptSession,
  NoAnswer,
  type Advice,
  type Environment,
} from '../client/index.ts';
import { forgetChoice } from './use.ts';
import { EXIT, createLineFormatter, type CommandProcess, type Terminal } from '../output/index.ts';

const revoke: Advice = { words: 'Revoke it with', command: ['deleteApiKey', 'ID'] };
const again: Advice = { words: 'Remove it there later with', command: ['logout'] };

interface Surroundings {
  terminal: Terminal;
  version: string;
  process: CommandProcess;
}

type Session = NonNullable<ReturnType<typeof keptSession>>;

/** Ends a session on the server; a key continues to work, wherever else it is. */
export async function logout(
  { terminal, version, process }: Surroundings,
  options: { profile?: string },
): Promise<void> {
  const { env } = process;
  const profile = options.profile ?? (env.RASKET_PROFILE || undefined);
  const session = readSession(env, profile);
  const fault = session && (await endKept(session, version));
  const { places, left } = forgetKey(env, profile);
  forgetChoice(process, profile);
  const say = createLineFormatter();
  const where = places.join(' and ');
  if (places.length === 0) terminal.print('No key was stored.');
  else if (!session) terminal.print(`The key was removed from ${where}. The key itself is still valid. ${say(revoke)}`);
  else if (fault === undefined) terminal.print(`The session has ended, and its token was removed from ${where}.`);
  else {
    terminal.print(`The token of the session was removed from ${where}.`);
    terminal.warn(`The session did not end on the server: ${fault} End it from another session, or let it expire.`);
    process.exitCode = EXIT.unreachable;
  }
  if (left !== undefined) terminal.print(`It may still be in the keyring, under rasket: ${left}. ${say(again)}`);
  if (env.RASKET_API_KEY) terminal.hint('RASKET_API_KEY is still set.');
}

/** A login that cannot be read is removed all the same. */
function readSession(env: Environment, profile: string | undefined): Session | undefined {
  try {
    return keptSession(env, profile);
  } catch (error) {
    if (error instanceof CredentialsFault) return undefined;
    throw error;
  }
}

/**
 * Ends the session of a stored token; returns the reason if that was not possible. A session that has already ended
 * counts as ended.
 */
export async function endKept({ url, api_key: apiKey }: Session, version: string): Promise<string | undefined> {
  try {
    await createClient({ url, apiKey, version }).call('logOut', { body: {} });
  } catch (error) {
    if (error instanceof NoAnswer) return error.message;
    if (error instanceof ApiFault) return error.status === 401 ? undefined : error.message;
    throw error;
  }
  return undefined;
}
