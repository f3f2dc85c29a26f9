import type { Role } from '../../src/contract/index.ts';
import { insertMember } from '../../src/tenancy/members/index.ts';
import { createUser } from '../../src/tenancy/users/index.ts';
import { computeCode, fromBase32, stepAt } from '../../src/protocol/totp.ts';
import { PageVisitor, type PageSeen } from './page-visitor.ts';
import type { Scene, Team } from './scene.ts';

export const PASSWORD = 'correct horse battery staple';

let people = 0;

/** Creates a person who signs in by password, in the team if one is given. */
export async function createAccount(scene: Scene, { team, email }: { team?: Team; email?: string } = {}) {
  const { world } = scene.app;
  const address = email ?? `page.person${++people}@people.example`;
  const { id } = await createUser(world, { email: address, name: 'Ada', password: PASSWORD, isVerified: true });
  if (team) await joinTeam(scene, team, id);
  return { id, email: address };
}

export async function joinTeam(scene: Scene, team: Team, userId: string, role: Role = 'owner'): Promise<void> {
  const { db, ids, clock } = scene.app.world;
  await insertMember(db, {
    id: ids.uuid(),
    team_id: team.id,
    user_id: userId,
    role,
    sso_exempt: 0,
    created_at: clock.now(),
  });
}

/** Signs in through the pages. */
export async function signIn(visitor: PageVisitor, email: string, password = PASSWORD): Promise<PageSeen> {
  const page = await visitor.open('/sign-in');
  return visitor.follow(visitor.send(page, 'Sign in', { email, password }));
}

/** Returns the code of an authenticator app for a key as a page shows it, a number of steps of 30 seconds from now. */
export const codeFor = (scene: Scene, key: string, steps = 0): string =>
  computeCode(fromBase32(key.replaceAll(' ', '')) ?? Buffer.alloc(0), stepAt(scene.clock.now()) + steps);
