import { randomUUID } from 'node:crypto';
import type { Role } from '../../src/contract/index.ts';
import { hashToken } from '../../src/platform/secrets/index.ts';
import { SESSION_COOKIE, SESSION_PREFIX } from '../../src/features/identity/sessions/sessions.ts';
import { emailKeyOf } from '../../src/tenancy/users/index.ts';
import type { ApiAnswer, ApiCall } from './api.ts';
import type { Scene, Team } from './scene.ts';

export interface Person {
  userId: string;
  email: string;
  /** Their membership, if they were added to a team. */
  memberId: string;
  /** The headers that their browser sends. */
  headers: Record<string, string>;
  call(method: string, path: string, body?: unknown): Promise<ApiAnswer>;
}

export interface People {
  /** Creates a person with a live session, in the team if one is given. */
  person(options?: { email?: string; team?: Team; role?: Role; isVerified?: boolean }): Promise<Person>;
  /** Creates another session of the same person, in the team if one is given. */
  session(person: Pick<Person, 'userId' | 'email' | 'memberId'>, teamId?: string): Promise<Person>;
  /** Creates a session of theirs for a program and returns its token. */
  program(person: Person, teamId?: string): Promise<string>;
}

let people = 0;

/** Creates signed-in people as rows: signing in by password takes longer than most tests. */
export function peopleOf(scene: Scene): People {
  const { db } = scene.app.world;
  const insert = (table: string, row: Record<string, string | number | null>): Promise<number> =>
    db.insertMany(table, Object.keys(row), [Object.values(row)]);

  async function begin(userId: string, teamId: string | undefined, more: { kind?: 'device'; client_name?: string }) {
    const id = randomUUID();
    const token = `${SESSION_PREFIX}${randomUUID()}`;
    const now = scene.clock.now();
    const times = { created_at: now, last_used_at: now, expires_at: now + 1e10 };
    await insert('sessions', {
      id,
      token_hash: hashToken(token),
      user_id: userId,
      current_team_id: teamId ?? null,
      ...times,
      ...more,
    });
    return token;
  }

  async function session({ userId, email, memberId }: Pick<Person, 'userId' | 'email' | 'memberId'>, teamId?: string) {
    const token = await begin(userId, teamId, {});
    const headers = { cookie: `${SESSION_COOKIE}=${token}`, origin: scene.url };
    const call = (method: string, path: string, body?: unknown) => {
      const given: ApiCall = { headers, ...(body === undefined ? {} : { body }) };
      return scene.api(method, path, given);
    };
    return { userId, email, memberId, headers, call };
  }

  return {
    session,
    program: ({ userId }, teamId) => begin(userId, teamId, { kind: 'device', client_name: 'rasket on a-laptop' }),
    async person({ email = `person${++people}@people.example`, team, role = 'member', isVerified = true } = {}) {
      const userId = randomUUID();
      const memberId = randomUUID();
      const now = scene.clock.now();
      const verified = isVerified ? now : null;
      const key = emailKeyOf(email);
      await insert('users', { id: userId, email, email_key: key, email_verified_at: verified, created_at: now });
      if (team) {
        const row = { id: memberId, team_id: team.id, user_id: userId, role, created_at: now };
        await insert('team_members', row);
      }
      return session({ userId, email, memberId }, team?.id);
    },
  };
}
