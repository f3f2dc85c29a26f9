import { randomUUID } from 'node:crypto';
import type { Role } from '../../src/contract/index.ts';
import type { Authenticator, HttpPort } from '../../src/http/index.ts';
import { refuse } from '../../src/platform/refusal/index.ts';
import { emailKeyOf } from '../../src/resources/users/index.ts';
import { createApi, type ApiAnswer, type ApiCall } from './api.ts';
import type { Scene, Team } from './scene.ts';
import { startSecondPort } from './second-port.ts';

export interface Person {
  userId: string;
  email: string;
  /** Their membership, where they were planted into a team. */
  memberId: string;
  /** What their browser sends along. */
  cookie: string;
  call(method: string, path: string, body?: unknown): Promise<ApiAnswer>;
}

export interface People extends AsyncDisposable {
  port: HttpPort;
  /** A person with a live session, in the team if one is named. */
  person(options?: { email?: string; team?: Team; role?: Role; isVerified?: boolean }): Promise<Person>;
  /** Another session of the same person, in the team if one is named. */
  session(person: Person, teamId?: string): Promise<Person>;
}

let people = 0;

/**
 * People who are signed in: rows of theirs in the tables, and a port that takes a session's id as a cookie. Everything is
 * read anew for each request, as for every credential.
 */
export async function startPeople(scene: Scene): Promise<People> {
  const { db } = scene.app.world;
  const port = await startSecondPort(scene, { authenticators: [sessionCookie(scene)] });
  const api = createApi(`http://127.0.0.1:${port.port}`);
  const insert = (table: string, row: Record<string, string | number | null>): Promise<number> =>
    db.insertMany(table, Object.keys(row), [Object.values(row)]);

  async function session(
    { userId, email, memberId }: Omit<Person, 'cookie' | 'call'>,
    teamId?: string,
  ): Promise<Person> {
    const [id, now] = [randomUUID(), scene.clock.now()];
    const times = { created_at: now, last_used_at: now, expires_at: now + 1e9 };
    await insert('sessions', { id, token_hash: id, user_id: userId, current_team_id: teamId ?? null, ...times });
    const cookie = `test_session=${id}`;
    const call = (method: string, path: string, body?: unknown) => {
      const given: ApiCall = {
        headers: { cookie, origin: scene.app.world.origin() },
        ...(body === undefined ? {} : { body }),
      };
      return api(method, path, given);
    };
    return { userId, email, memberId, cookie, call };
  }

  return {
    port,
    session,
    async person({ email = `person${++people}@people.example`, team, role = 'member', isVerified = true } = {}) {
      const [userId, memberId, now] = [randomUUID(), randomUUID(), scene.clock.now()];
      const verified = isVerified ? now : null;
      const key = emailKeyOf(email);
      await insert('users', { id: userId, email, email_key: key, email_verified_at: verified, created_at: now });
      if (team) {
        const row = { id: memberId, team_id: team.id, user_id: userId, role, created_at: now };
        await insert('team_members', row);
      }
      return session({ userId, email, memberId }, team?.id);
    },
    [Symbol.asyncDispose]: () => port.close(0),
  };
}

function sessionCookie({ app }: Scene): Authenticator {
  return {
    cookie: 'test_session',
    async identify(secret) {
      const row = await app.world.db.get<{ user_id: string; email: string; team_id: string | null; role: Role | null }>(
        `select s.user_id, u.email, m.team_id, m.role from sessions s join users u on u.id = s.user_id
          left join team_members m on m.user_id = s.user_id and m.team_id = s.current_team_id where s.token_hash = ?`,
        [secret],
      );
      if (!row) throw refuse('invalid_api_key', { say: 'This session has ended.' });
      const actor = {
        kind: 'session' as const,
        sessionId: secret,
        userId: row.user_id,
        name: row.email,
        role: row.role,
      };
      return { teamId: row.team_id, actor };
    },
  };
}
