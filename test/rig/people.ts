import { randomUUID } from 'node:crypto';
import type { Role } from '../../src/contract/index.ts';
import { hashToken } from '../../src/platform/secrets/index.ts';
import { SESSION_COOKIE, SESSION_PREFIX } from '../../src/features/identity/sessions/sessions.ts';
import { insertMember } from '../../src/tenancy/members/index.ts';
import { copySession, endSession, insertSession } from '../../src/tenancy/session-rows/index.ts';
import { toEmailKey, insertUser } from '../../src/tenancy/users/index.ts';
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
  person(options?: { email?: string; name?: string; team?: Team; role?: Role; isVerified?: boolean }): Promise<Person>;
  /** Creates another session of the same person, in the team if one is given. */
  session(person: Pick<Person, 'userId' | 'email' | 'memberId'>, teamId?: string): Promise<Person>;
  /** Creates a session of theirs for a program and returns its token. */
  program(person: Person, teamId?: string): Promise<string>;
}

let people = 0;

/** Signs people in without a password: hashing one takes longer than most tests. */
export function createPeople(scene: Scene): People {
  const { db } = scene.app.world;

  function newSession() {
    const token = `${SESSION_PREFIX}${randomUUID()}`;
    const now = scene.clock.now();
    const row = {
      id: randomUUID(),
      token_hash: hashToken(token),
      created_at: now,
      last_used_at: now,
      expires_at: now + 1e10,
      address: null,
      user_agent: null,
    };
    return { token, row };
  }

  async function begin(userId: string, teamId: string | undefined): Promise<{ token: string; sessionId: string }> {
    const { token, row } = newSession();
    const more = {
      user_id: userId,
      current_team_id: teamId ?? null,
      sso_team_id: null,
      sso_sid_hash: null,
      host_cookie: 0,
    };
    await insertSession(db, { ...row, ...more });
    return { token, sessionId: row.id };
  }

  /** A program gets a copy of the browser's session in which it is approved. */
  async function beginProgram(userId: string, teamId: string | undefined): Promise<string> {
    const { sessionId } = await begin(userId, teamId);
    const { token, row } = newSession();
    await copySession(db, sessionId, { ...row, client_name: 'rasket on a-laptop' });
    await endSession(db, sessionId);
    return token;
  }

  async function session({ userId, email, memberId }: Pick<Person, 'userId' | 'email' | 'memberId'>, teamId?: string) {
    const { token } = await begin(userId, teamId);
    const headers = { cookie: `${SESSION_COOKIE}=${token}`, origin: scene.url };
    const call = (method: string, path: string, body?: unknown) => {
      const given: ApiCall = { headers, ...(body === undefined ? {} : { body }) };
      return scene.api(method, path, given);
    };
    return { userId, email, memberId, headers, call };
  }

  return {
    session,
    program: ({ userId }, teamId) => beginProgram(userId, teamId),
    async person({ email = `person${++people}@people.example`, name, team, role = 'member', isVerified = true } = {}) {
      const userId = randomUUID();
      const memberId = randomUUID();
      const now = scene.clock.now();
      const verified = isVerified ? now : null;
      await insertUser(db, {
        id: userId,
        email,
        email_key: toEmailKey(email),
        name: name ?? null,
        password_hash: null,
        email_verified_at: verified,
        created_at: now,
      });
      if (team) {
        const row = { id: memberId, team_id: team.id, user_id: userId, role, sso_exempt: 0, created_at: now };
        await insertMember(db, row);
      }
      return session({ userId, email, memberId }, team?.id);
    },
  };
}
