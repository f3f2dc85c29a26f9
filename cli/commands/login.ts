import {
  ApiFault,
  checkKey,
  checkProfile,
  createClient,
  DEFAULT_URL,
  describeStore,
  keepKey,
  moveIntoKeyring,
  readUrl,
} from '../client/index.ts';
import { CliFault, type CommandProcess, type Terminal } from '../output/index.ts';
import { readSecret } from './stdin.ts';
import { tellWaits } from './tell-waits.ts';

interface Surroundings {
  terminal: Terminal;
  version: string;
  process: CommandProcess;
}

/** A key that the server does not take is not kept: the former one may still be good. */
export async function login(
  { terminal, version, process }: Surroundings,
  options: { url?: string; apiKey?: string; profile?: string },
): Promise<void> {
  const { env } = process;
  const profile = options.profile ?? (env.RASKET_PROFILE || undefined);
  if (profile !== undefined) checkProfile(profile);
  const url = readUrl(
    options.url ?? (env.RASKET_URL || DEFAULT_URL),
    options.url === undefined ? 'RASKET_URL' : '--url',
  );
  const typed = options.apiKey ?? (await readSecret(process, `API key for ${url}: `));
  const apiKey = checkKey(typed, options.apiKey === undefined ? 'standard input' : '--api-key');
  const client = tellWaits(createClient({ url, apiKey, version }), terminal);
  try {
    await (apiKey.startsWith('rkop_')
      ? client.call('listQueueHolds', { query: { limit: 1 } })
      : client.call('listEmails', { query: { limit: 1 } }));
  } catch (error) {
    // A key that may only send is refused here, and is a good key all the same.
    if (!(error instanceof ApiFault) || !isSendingKey(error)) throw sayWhich(error);
  }
  const kept = keepKey(env, { url, api_key: apiKey }, profile);
  terminal.print(`The key for ${url} is kept in ${describeStore(kept.file, kept)}.`);
  for (const moved of kept.by ? moveIntoKeyring(env) : [])
    terminal.print(
      `The key of ${moved === undefined ? 'the login without a profile' : `profile ${moved}`} was moved there from its file.`,
    );
  if (profile !== undefined) terminal.hint(`Use it with --profile ${profile}, or with RASKET_PROFILE=${profile}.`);
  if (env.RASKET_API_KEY) terminal.hint('RASKET_API_KEY is set too, and wins over it.');
}

export const isSendingKey = (fault: ApiFault): boolean =>
  fault.body.name === 'restricted_api_key' && fault.status === 401;

function sayWhich(error: unknown): unknown {
  if (!(error instanceof ApiFault) || error.body.name !== 'invalid_api_key') return error;
  return new CliFault('The API key was not accepted (invalid_api_key), and nothing was changed.', 'auth', {
    words: 'A team and its first key are made on the server with',
    command: ['teams create', 'NAME'],
  });
}
