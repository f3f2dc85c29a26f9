import { ApiFault, isSession, readEntry, CredentialsFault, type AnswerOf, type Client } from '../client/index.ts';
import { formatPairs, formatTime, clean } from '../output/index.ts';
import { isSendingKey } from './login.ts';
import type { Session } from './session.ts';

interface Caller {
  url: string;
  /** The kind of credential that is sent. */
  kind: 'session' | 'api_key' | 'operator_token';
  key_from: string;
  person: string | null;
  team: { id: string; name: string } | null;
  role: string | null;
  /** Set for a session. */
  expires_at: string | null;
  /** Another credential that exists and is not sent. */
  also: { from: string; url: string } | null;
}

type Found = Pick<Caller, 'person' | 'team' | 'role' | 'expires_at'>;

const NOBODY: Found = { person: null, team: null, role: null, expires_at: null };

/** Prints who the caller is for the server. */
export async function printCaller({ client, target, terminal, isJson, process }: Session): Promise<void> {
  const { url, apiKey = '', keyFrom } = target;
  const kind = isSession(apiKey) ? 'session' : apiKey.startsWith('rkop_') ? 'operator_token' : 'api_key';
  const found = await FINDERS[kind](client);
  const who: Caller = { url, kind, key_from: keyFrom, ...found, also: alsoKept(process.env, keyFrom) };
  if (isJson) return terminal.printJson(who);
  terminal.print(
    formatPairs(terminal, [
      ['Server', url],
      ['Sent', `${KINDS[kind]} (${keyFrom})`],
      [
        'You are',
        who.person ??
          (kind === 'session'
            ? null
            : kind === 'operator_token'
              ? 'an operator'
              : 'not a person: a key belongs to its team'),
      ],
      ['Team', who.team ? clean(who.team.name) : kind === 'operator_token' ? null : 'none'],
      ['Role', who.role],
      ['Until', who.expires_at === null ? null : formatTime(terminal, who.expires_at)],
    ]),
  );
  if (who.also) terminal.print(`\n${who.also.from} has another one, for ${who.also.url}; ${keyFrom} takes precedence.`);
}

const KINDS: Record<Caller['kind'], string> = {
  session: 'the session of a person',
  api_key: 'an API key',
  operator_token: 'the token of an operator',
};

const FINDERS: Record<Caller['kind'], (client: Client) => Promise<Found>> = {
  session: findPerson,
  api_key: findTeamOfKey,
  async operator_token(client) {
    await client.call('listQueueHolds', { query: { limit: 1 } });
    return NOBODY;
  },
};

async function findPerson(client: Client): Promise<Found> {
  const { user } = await client.call('getSession', {});
  const current = await currentSession(client);
  return {
    person: user.email,
    team: current?.team ?? null,
    role: current?.role ?? null,
    expires_at: current?.expires_at ?? null,
  };
}

type Listed = AnswerOf<'listSessions'>['data'][number];

async function currentSession(client: Client): Promise<Listed | undefined> {
  for (let after: string | undefined; ;) {
    const page = await client.call('listSessions', { query: { limit: 100, ...(after !== undefined && { after }) } });
    const current = page.data.find((one) => one.is_current);
    after = page.data.at(-1)?.id;
    if (current || !page.has_more || after === undefined) return current;
  }
}

/** A key that may only send cannot read its team. */
async function findTeamOfKey(client: Client): Promise<Found> {
  try {
    const { id, name } = await client.call('getTeam', {});
    return { ...NOBODY, team: { id, name }, role: 'full access' };
  } catch (error) {
    if (!(error instanceof ApiFault) || !isSendingKey(error)) throw error;
    return { ...NOBODY, role: 'sending only' };
  }
}

/** Returns the stored login when an explicit key takes precedence over it. */
function alsoKept(env: Session['process']['env'], keyFrom: string): Caller['also'] {
  if (!['RASKET_API_KEY', '--api-key'].includes(keyFrom)) return null;
  try {
    const entry = readEntry(env, env.RASKET_PROFILE || undefined);
    return entry ? { from: entry.file, url: entry.url } : null;
  } catch (error) {
    if (error instanceof CredentialsFault) return null;
    throw error;
  }
}
