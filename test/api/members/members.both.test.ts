import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROLES, type Role } from '../../../src/contract/index.ts';
import { hasMembers } from '../../../src/tenancy/members/index.ts';
import { disableUser, enableUser } from '../../../src/tenancy/users/index.ts';
import { openEventStream } from '../../rig/event-stream.ts';
import { createPeople, type People, type Person } from '../../rig/people.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

let scene: Scene;
let people: People;
beforeAll(async () => {
  scene = await startScene();
  people = createPeople(scene);
});
afterAll(() => scene.close());

const at = (team: Team, { memberId }: Person): string => `/teams/${team.id}/members/${memberId}`;
const refusal = ({ status, body }: { status: number; body: { name?: string } }) =>
  status < 300 ? `${status}` : `${status} ${body.name}`;

/** Creates a team with one owner, so that everybody else may leave. */
async function teamWithOwner(): Promise<{ team: Team; owner: Person }> {
  const team = await scene.team();
  return { team, owner: await people.person({ team, role: 'owner' }) };
}

describe('GET /team/members', () => {
  it('lists the people of the key’s team, newest first, page by page', async () => {
    const { team, owner } = await teamWithOwner();
    const second = await people.person({ team, role: 'viewer' });
    await teamWithOwner();
    const first = await scene.api('GET', '/team/members?limit=1', { key: team.key });
    const [one] = first.body.data;
    const rest = await scene.api('GET', `/team/members?after=${one.id}`, { key: team.key });
    const found = [one, ...rest.body.data].map((member: { id: string; email: string; role: string }) => [
      member.id,
      `${member.email} ${member.role}`,
    ]);
    expect(first.body.has_more).toBe(true);
    expect(Object.fromEntries(found)).toEqual({
      [owner.memberId]: `${owner.email} owner`,
      [second.memberId]: `${second.email} viewer`,
    });
    expect(one).toMatchObject({ object: 'team_member', mfa_enabled: false, sso_exempt: false, name: null });
  });

  it('counts nobody in a team whose first person `rasket users add` makes its owner', async () => {
    const team = await scene.team();
    const { db } = scene.app.world;
    expect(await hasMembers(db, team.id)).toBe(false);
    await people.person({ team, role: 'viewer' });
    expect(await hasMembers(db, team.id)).toBe(true);
  });

  it('shows who is disabled, in the list and for a single member', async () => {
    const { team, owner } = await teamWithOwner();
    const other = await people.person({ team, role: 'admin' });
    await disableUser(scene.app.world, other.email);
    const { body } = await scene.api('GET', '/team/members', { key: team.key });
    const told = body.data.map((member: { id: string; disabled: boolean }) => [member.id, member.disabled]);
    expect(Object.fromEntries(told)).toEqual({ [owner.memberId]: false, [other.memberId]: true });
    expect((await owner.call('GET', at(team, other))).body.disabled).toBe(true);
    await enableUser(scene.app.world, other.email);
    expect((await owner.call('GET', at(team, other))).body.disabled).toBe(false);
  });

  it('is refused for a sending key, and allowed for every role', async () => {
    const { team } = await teamWithOwner();
    const key = await team.sendingKey();
    expect(refusal(await scene.api('GET', '/team/members', { key }))).toBe('401 restricted_api_key');
    const viewer = await people.person({ team, role: 'viewer' });
    expect((await viewer.call('GET', '/team/members')).status).toBe(200);
    expect((await viewer.call('GET', `/teams/${team.id}/members`)).body.data).toHaveLength(2);
    expect((await viewer.call('GET', at(team, viewer))).body).toMatchObject({ id: viewer.memberId, role: 'viewer' });
  });

  it('is refused for a key on every route of a person', async () => {
    const { team, owner } = await teamWithOwner();
    for (const [method, path, body] of [
      ['GET', '/teams'],
      ['GET', `/teams/${team.id}/members`],
      ['PATCH', at(team, owner), { role: 'viewer' }],
      ['DELETE', at(team, owner)],
      ['POST', `/teams/${team.id}/invitations`, { email: 'x@example.org', role: 'owner' }],
    ] as const)
      expect((await scene.api(method, path, { key: team.key, body })).body).toMatchObject({
        statusCode: 403,
        name: 'invalid_permission',
        message: 'This route does not accept an API key; sign in as a person.',
      });
  });
});

// The rules of roles, written independently of the program's table.
const RANK: Record<Role, number> = { viewer: 0, member: 1, admin: 2, owner: 3 };
const maySay = (caller: Role, ...about: Role[]): boolean =>
  RANK[caller] >= RANK.admin && about.every((role) => RANK[role] <= RANK[caller]);
const pairs = ROLES.flatMap((caller) => ROLES.map((other) => [caller, other] as const));

describe('the rules of roles decide whether', () => {
  it.each(pairs)('a %s invites as %s', async (caller, role) => {
    const { team } = await teamWithOwner();
    await team.domain();
    const person = await people.person({ team, role: caller });
    const answer = await person.call('POST', `/teams/${team.id}/invitations`, {
      email: `${caller}-${role}@in.example`,
      role,
    });
    expect(refusal(answer)).toBe(maySay(caller, role) ? '201' : '403 invalid_permission');
  });

  it.each(pairs)('a %s removes a %s', async (caller, role) => {
    const { team } = await teamWithOwner();
    const person = await people.person({ team, role: caller });
    const other = await people.person({ team, role });
    expect(refusal(await person.call('DELETE', at(team, other)))).toBe(
      maySay(caller, role) ? '200' : '403 invalid_permission',
    );
  });

  it.each(pairs)('a %s gives every role to a %s', async (caller, from) => {
    const { team } = await teamWithOwner();
    const person = await people.person({ team, role: caller });
    for (const to of ROLES) {
      const other = await people.person({ team, role: from });
      const answer = await person.call('PATCH', at(team, other), { role: to });
      expect(`${to}: ${refusal(answer)}`).toBe(`${to}: ${maySay(caller, from, to) ? '200' : '403 invalid_permission'}`);
    }
  });

  it.each(pairs)('a %s makes itself a %s', async (caller, to) => {
    const { team } = await teamWithOwner();
    const person = await people.person({ team, role: caller });
    const answer = await person.call('PATCH', at(team, person), { role: to });
    expect(refusal(answer)).toBe(maySay(caller, caller, to) ? '200' : '403 invalid_permission');
  });

  it.each(ROLES.map((role) => [role]))('a %s may leave, as every role may', async (role) => {
    const { team } = await teamWithOwner();
    const person = await people.person({ team, role });
    expect((await person.call('DELETE', at(team, person))).status).toBe(200);
    expect(refusal(await person.call('GET', '/team'))).toBe('401 invalid_api_key');
  });
});

describe('the last owner', () => {
  it('can neither leave nor step down, while one of two owners can', async () => {
    const { team, owner } = await teamWithOwner();
    for (const answer of [
      await owner.call('DELETE', at(team, owner)),
      await owner.call('PATCH', at(team, owner), { role: 'admin' }),
    ])
      expect(refusal(answer)).toBe('409 resource_locked');
    const second = await people.person({ team, role: 'owner' });
    expect((await second.call('PATCH', at(team, second), { role: 'admin' })).status).toBe(200);
  });

  it('is the last who can sign in: a disabled owner does not count, and may be removed', async () => {
    const { team, owner } = await teamWithOwner();
    const second = await people.person({ team, role: 'owner' });
    await disableUser(scene.app.world, second.email);
    for (const answer of [
      await owner.call('DELETE', at(team, owner)),
      await owner.call('PATCH', at(team, owner), { role: 'admin' }),
    ])
      expect(refusal(answer)).toBe('409 resource_locked');
    expect(refusal(await owner.call('DELETE', at(team, second)))).toBe('200');
  });

  it.each(['PATCH', 'DELETE'])('remains when two owners leave at once by %s', async (method) => {
    for (let round = 0; round < 10; round++) {
      const { team, owner } = await teamWithOwner();
      const second = await people.person({ team, role: 'owner' });
      const body = method === 'PATCH' ? { role: 'viewer' } : undefined;
      const both = [owner.call(method, at(team, owner), body), second.call(method, at(team, second), body)];
      const answers = (await Promise.all(both)).map(refusal);
      expect(answers.toSorted()).toEqual(['200', '409 resource_locked']);
    }
  });
});

describe('sessions of a member', () => {
  it('end at once when the person is removed, in this team alone', async () => {
    const { team, owner } = await teamWithOwner();
    const other = await scene.team();
    const person = await people.person({ team, role: 'admin' });
    const elsewhere = await people.session(person, other.id);
    expect((await person.call('GET', '/domains')).status).toBe(200);
    expect((await owner.call('DELETE', at(team, person))).status).toBe(200);
    expect(refusal(await person.call('GET', '/domains'))).toBe('401 invalid_api_key');
    expect((await elsewhere.call('GET', '/teams')).status).toBe(200);
    expect(refusal(await elsewhere.call('POST', `/teams/${team.id}/switch`))).toBe('404 not_found');
  });

  it('end with a lower role, and continue with the same or a higher one', async () => {
    const { team, owner } = await teamWithOwner();
    const person = await people.person({ team, role: 'member' });
    for (const role of ['member', 'admin'])
      expect((await owner.call('PATCH', at(team, person), { role })).status).toBe(200);
    expect((await person.call('GET', '/team')).status).toBe(200);
    expect((await owner.call('PATCH', at(team, person), { role: 'viewer' })).body.role).toBe('viewer');
    expect(refusal(await person.call('GET', '/team'))).toBe('401 invalid_api_key');
  });

  it('and sent invitations end with the role, except those the new role may send', async () => {
    const { team, owner } = await teamWithOwner();
    await team.domain();
    const second = await people.person({ team, role: 'owner' });
    const path = `/teams/${team.id}/invitations`;
    for (const role of ['owner', 'viewer'])
      expect((await second.call('POST', path, { email: `${role}@later.example`, role })).status).toBe(201);
    const left = async () => (await owner.call('GET', path)).body.data.map((one: { email: string }) => one.email);
    await owner.call('PATCH', at(team, second), { role: 'admin' });
    expect(await left()).toEqual(['viewer@later.example']);
    await owner.call('DELETE', at(team, second));
    expect(await left()).toEqual([]);
  });
});

it('another team returns 404 unless the session is in it, even to its members', async () => {
  const { team, owner } = await teamWithOwner();
  const { team: other, owner: stranger } = await teamWithOwner();
  const calls = (teamId: string, memberId: string) => [
    owner.call('GET', `/teams/${teamId}/members`),
    owner.call('GET', `/teams/${teamId}/members/${memberId}`),
    owner.call('PATCH', `/teams/${teamId}/members/${memberId}`, { role: 'viewer' }),
    owner.call('DELETE', `/teams/${teamId}/members/${memberId}`),
    owner.call('GET', `/teams/${teamId}/invitations`),
    owner.call('POST', `/teams/${teamId}/invitations`, { email: 'a@example.org', role: 'viewer' }),
    owner.call('DELETE', `/teams/${teamId}/invitations/${memberId}`),
  ];
  const said = async (teamId: string, memberId: string) =>
    (await Promise.all(calls(teamId, memberId))).map(({ status, text }) => `${status} ${text}`);
  const foreign = await said(other.id, stranger.memberId);
  expect(foreign).toEqual(await said(randomUUID(), randomUUID()));
  expect(foreign.every((one) => one.startsWith('404 '))).toBe(true);
  // The calls use the own team with a member of the other one.
  for (const method of ['GET', 'DELETE'])
    expect(refusal(await owner.call(method, at(team, stranger)))).toBe('404 not_found');
  expect(refusal(await owner.call('PATCH', at(team, stranger), { role: 'viewer' }))).toBe('404 not_found');
});

it('an unknown role is refused by field', async () => {
  const { team, owner } = await teamWithOwner();
  const answer = await owner.call('PATCH', at(team, owner), { role: 'root' });
  expect([answer.status, answer.body.message]).toEqual([
    400,
    'role must be viewer, member, admin or owner; got "root"',
  ]);
});

it('the audit log names the actor and the changed person', async () => {
  const { team, owner } = await teamWithOwner();
  const person = await people.person({ team, role: 'member' });
  await owner.call('PATCH', at(team, person), { role: 'viewer' });
  await owner.call('DELETE', at(team, person));
  const { data } = (await owner.call('GET', '/audit')).body;
  const actor = { kind: 'user', id: owner.userId, name: owner.email };
  expect(data).toMatchObject([
    {
      action: 'team_member.removed',
      subject_id: person.memberId,
      actor,
      details: { email: person.email, role: 'viewer' },
    },
    {
      action: 'team_member.updated',
      subject_id: person.memberId,
      actor,
      team_id: team.id,
      details: { email: person.email, former_role: 'member', role: 'viewer' },
    },
  ]);
});

describe('the event stream of a person', () => {
  const ways: Record<string, (found: { team: Team; owner: Person; viewer: Person }) => Promise<unknown>> = {
    'is removed': ({ team, owner, viewer }) => owner.call('DELETE', at(team, viewer)),
    'signs out': ({ viewer }) => viewer.call('POST', '/auth/logout', {}),
    'goes to another team': async ({ viewer }) => {
      const { id } = (await viewer.call('POST', '/teams', { name: 'Mine' })).body;
      return viewer.call('POST', `/teams/${id as string}/switch`);
    },
    'is in a team that is suspended': ({ team }) =>
      scene.app.world.db.run("update teams set risk_state = 'suspended' where id = ?", [team.id]),
  };

  it.each(Object.keys(ways))('ends before the next event when the person %s', async (name) => {
    const { team, owner } = await teamWithOwner();
    const viewer = await people.person({ team, role: 'viewer' });
    await using stream = await openEventStream(scene.url, { key: '', headers: viewer.headers });
    await stream.until(1);
    const answer = await ways[name]?.({ team, owner, viewer });
    expect((answer as { status?: number }).status ?? 200).toBeLessThan(300);
    scene.clock.advance(15_000);
    await stream.ended;
    expect(stream.frames().slice(1)).toMatchObject([{ event: 'closed', data: { reason: 'session_ended' } }]);
  });
});

describe('the request log of a team', () => {
  it('has no calls of its people that do not concern the team', async () => {
    const { team, owner } = await teamWithOwner();
    const { id } = (await owner.call('POST', '/teams', { name: 'Elsewhere' })).body;
    expect((await owner.call('GET', '/teams')).status).toBe(200);
    expect((await owner.call('GET', '/segments')).status).toBe(200);
    const paths = (await scene.api('GET', '/logs', { key: team.key })).body.data.map(
      ({ endpoint }: { endpoint: string }) => endpoint,
    );
    expect(id).toEqual(expect.any(String));
    expect(paths).toEqual(['/segments']);
  });

  it('keeps no answer that a viewer could not request', async () => {
    const { team, owner } = await teamWithOwner();
    const viewer = await people.person({ team, role: 'viewer' });
    const path = `/teams/${team.id}/invitations`;
    for (const read of ['/audit', path]) {
      expect((await viewer.call('GET', read)).status).toBe(403);
      expect((await owner.call('GET', read)).status).toBe(200);
    }
    const { data } = (await viewer.call('GET', '/logs')).body;
    const answers = await Promise.all(
      (data as { id: string; response_status: number }[])
        .filter(({ response_status: status }) => status === 200)
        .map(async ({ id }) => (await viewer.call('GET', `/logs/${id}`)).body.response_body),
    );
    expect(answers).toHaveLength(2);
    for (const answer of answers) expect(answer).toMatchObject({ redacted: true });
  });
});
