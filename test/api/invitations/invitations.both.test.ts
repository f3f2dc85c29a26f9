import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { withdrawAllInvitations } from '../../../src/tenancy/members/index.ts';
import { disableUser, lockUser } from '../../../src/tenancy/users/index.ts';
import type { ApiAnswer } from '../../rig/api.ts';
import { driver } from '../../rig/database.ts';
import { joinTeam } from '../../rig/page-people.ts';
import { createPeople, type People, type Person } from '../../rig/people.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

const DAY_MS = 24 * 3_600_000;
let scene: Scene;
let people: People;
beforeAll(async () => {
  scene = await startScene();
  people = createPeople(scene);
});
afterAll(() => scene.close());

interface Inviting {
  team: Team;
  owner: Person;
  path: string;
}

async function inviting(): Promise<Inviting> {
  const team = await scene.team();
  await team.domain();
  return { team, owner: await people.person({ team, role: 'owner' }), path: `/teams/${team.id}/invitations` };
}

let addresses = 0;
const newAddress = (): string => `guest${++addresses}@guests.example`;

const mailsTo = (email: string): string[] =>
  scene.sink.messages
    .filter(({ rcptTo }) => rcptTo.includes(email))
    .map(({ data }) => data.toString('utf8').replaceAll(/=\r\n/g, '').replaceAll('=3D', '='));

/** Invites and returns the token of the mail. */
async function invited(
  { owner, path }: Inviting,
  email: string,
  role = 'member',
): Promise<{ id: string; token: string }> {
  const answer = await owner.call('POST', path, { email, role });
  expect(answer.status, answer.text).toBe(201);
  await scene.settled();
  const token = /token=(ri_[\w-]+)/.exec(mailsTo(email).at(-1) ?? '')?.[1];
  if (token === undefined) throw new Error(`no invitation came to ${email}`);
  return { id: answer.body.id, token };
}

const accept = (person: Person, token: string) => person.call('POST', '/invitations/accept', { token });
const refusal = ({ status, body }: { status: number; body: { name?: string } }) =>
  status < 300 ? `${status}` : `${status} ${body.name}`;

it('an invitation is mailed once, from the team’s own domain, with the public address whatever Host says', async () => {
  const { team, owner, path } = await inviting();
  const email = newAddress();
  const headers = { ...owner.headers, host: 'evil.example', 'x-forwarded-host': 'evil.example' };
  const answer = await scene.api('POST', path, {
    headers,
    body: { email, role: 'member' },
  });
  expect(answer.status).toBe(201);
  await scene.settled();
  const [mail, ...more] = mailsTo(email);
  expect(more).toEqual([]);
  expect(mail).toContain(`${scene.url}/invitation?token=ri_`);
  expect(mail).toMatch(/From: rasket <notifications@d\d+\.example\.com>/m);
  expect(mail).not.toContain('evil.example');
  const [listed] = (await owner.call('GET', path)).body.data;
  expect(listed).toMatchObject({ email, role: 'member', status: 'pending', invited_by: owner.email, mail_error: null });
  expect(listed.mailed_at).not.toBeNull();
  const row = await scene.app.world.db.get<{ token_hash: string }>('select * from team_invitations where team_id = ?', [
    team.id,
  ]);
  expect(mail).not.toContain(row?.token_hash);
});

it('an invitation adds the person with its address once, with its role, and a repeated accept is harmless', async () => {
  const scene1 = await inviting();
  const email = newAddress();
  const { token } = await invited(scene1, email, 'admin');
  const person = await people.person({ email });
  const [first, second] = await Promise.all([accept(person, token), accept(person, token)]);
  for (const answer of [first, second, await accept(person, token)])
    expect([answer.status, answer.body]).toEqual([
      200,
      expect.objectContaining({ team_id: scene1.team.id, role: 'admin' }),
    ]);
  const { data } = (await scene1.owner.call('GET', `/teams/${scene1.team.id}/members`)).body;
  expect(data.filter((one: { email: string }) => one.email === email)).toHaveLength(1);
  expect((await person.call('POST', `/teams/${scene1.team.id}/switch`)).body.id).toBe(scene1.team.id);
  expect((await person.call('GET', '/domains')).status).toBe(200);
  expect((await scene1.owner.call('GET', scene1.path)).body.data).toEqual([]);
});

describe('an invitation is not accepted', () => {
  it('by another address, nor before the address is verified', async () => {
    const one = await inviting();
    const email = newAddress();
    const { token } = await invited(one, email, 'owner');
    const thief = await people.person();
    const hasty = await people.person({ email, isVerified: false });
    for (const person of [thief, hasty, one.owner])
      expect(refusal(await accept(person, token))).toBe('403 invalid_permission');
    expect((await accept(thief, token)).text).not.toContain(email);
    expect((await one.owner.call('GET', `/teams/${one.team.id}/members`)).body.data).toHaveLength(1);
  });

  it('after its person was removed, after a withdrawal, after seven days, or with an unknown token', async () => {
    const one = await inviting();
    const removed = await people.person({ email: newAddress() });
    const { token } = await invited(one, removed.email);
    await accept(removed, token);
    const { data } = (await one.owner.call('GET', `/teams/${one.team.id}/members`)).body;
    const { id } = data.find((member: { email: string }) => member.email === removed.email);
    await one.owner.call('DELETE', `/teams/${one.team.id}/members/${id}`);
    expect(refusal(await accept(removed, token))).toBe('404 not_found');

    const withdrawn = await people.person({ email: newAddress() });
    const second = await invited(one, withdrawn.email);
    expect((await one.owner.call('DELETE', `${one.path}/${second.id}`)).body.deleted).toBe(true);
    expect(refusal(await accept(withdrawn, second.token))).toBe('404 not_found');
    expect(refusal(await one.owner.call('DELETE', `${one.path}/${second.id}`))).toBe('404 not_found');

    const late = await people.person({ email: newAddress() });
    const third = await invited(one, late.email);
    scene.clock.advance(7 * DAY_MS);
    expect(refusal(await accept(late, third.token))).toBe('404 not_found');
    expect((await one.owner.call('GET', one.path)).body.data[0].status).toBe('expired');
    // An expired invitation releases its address.
    expect((await accept(late, (await invited(one, late.email)).token)).status).toBe(200);
    expect(refusal(await accept(late, 'ri_nothing'))).toBe('404 not_found');
  });
});

describe('the address of an invitation', () => {
  it('has one open invitation, even for two requests at once and in another letter case', async () => {
    for (let round = 0; round < 5; round++) {
      const { owner, path } = await inviting();
      const email = newAddress();
      const body = { email, role: 'viewer' };
      const twin = { email: email.toUpperCase(), role: 'admin' };
      const both = await Promise.all([owner.call('POST', path, body), owner.call('POST', path, twin)]);
      expect(both.map(refusal).toSorted()).toEqual(['201', '409 resource_locked']);
      expect((await owner.call('GET', path)).body.data).toHaveLength(1);
    }
  });

  it('is matched in any letter case when it is accepted, and against existing members', async () => {
    const one = await inviting();
    const email = newAddress();
    const { token } = await invited(one, email);
    const person = await people.person({ email: email.toUpperCase() });
    expect((await accept(person, token)).status).toBe(200);
    expect(refusal(await one.owner.call('POST', one.path, { email, role: 'owner' }))).toBe('409 resource_locked');
  });

  it('must be valid', async () => {
    const { owner, path } = await inviting();
    for (const email of ['nobody', 'Ada <ada@example.org>', 'a@b@c.example', 'x'.repeat(320)]) {
      const answer = await owner.call('POST', path, { email, role: 'viewer' });
      expect([answer.status, answer.body.errors?.[0]?.path ?? answer.body.message]).toEqual([400, 'email']);
    }
  });
});

it('an invitation requires a domain to mail from', async () => {
  const team = await scene.team();
  const owner = await people.person({ team, role: 'owner' });
  const answer = await owner.call('POST', `/teams/${team.id}/invitations`, { email: newAddress(), role: 'viewer' });
  expect([answer.status, answer.body.message]).toEqual([
    422,
    'This team has no verified domain to send the invitation from; verify one first.',
  ]);
});

it('invitations are withdrawn in every team when their sender is disabled, and those of others stay', async () => {
  const one = await inviting();
  const two = await inviting();
  const sender = await people.person({ team: one.team, role: 'admin' });
  await joinTeam(scene, two.team, sender.userId);
  const inTwo = await people.session(sender, two.team.id);
  const sent = [
    await invited({ ...one, owner: sender }, newAddress()),
    await invited({ ...two, owner: inTwo }, newAddress()),
  ];
  const other = await invited(one, newAddress());
  expect(await disableUser(scene.app.world, sender.email)).toMatchObject({ invitations_withdrawn: 2 });
  for (const { token } of sent) expect(refusal(await accept(await people.person(), token))).toBe('404 not_found');
  expect((await one.owner.call('GET', one.path)).body.data).toMatchObject([{ id: other.id }]);
});

// runs only on PostgreSQL: SQLite has one writer, so that neither sees the other half done
it.runIf(driver === 'pg')(
  'an invitation that is sent while its sender is being disabled does not stay open',
  async () => {
    const { db, clock } = scene.app.world;
    const one = await inviting();
    const sender = await people.person({ team: one.team, role: 'admin' });
    let answer: Promise<ApiAnswer> | undefined;
    await db.tx(async (tx) => {
      await lockUser(tx, sender.userId);
      await tx.run('update users set disabled_at = ? where id = ?', [clock.now(), sender.userId]);
      await withdrawAllInvitations(tx, sender.userId);
      answer = sender.call('POST', one.path, { email: newAddress(), role: 'viewer' });
      const isWaiting = async () => {
        const sql = `select 1 as found from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' limit 1`;
        return (await tx.get(sql)) !== undefined;
      };
      await Promise.race([answer, vi.waitUntil(isWaiting, { interval: 5 })]);
    });
    expect(refusal((await answer) ?? { status: 0, body: {} })).toBe('403 invalid_permission');
    expect((await one.owner.call('GET', one.path)).body.data).toEqual([]);
  },
);

it('a team may send 50 invitations an hour, withdrawn or not, and have 100 open ones', async () => {
  const { team, owner, path } = await inviting();
  const invite = () => owner.call('POST', path, { email: newAddress(), role: 'viewer' });
  const { id } = (await invite()).body;
  await owner.call('DELETE', `${path}/${id}`);
  for (let sent = 1; sent < 50; sent++) expect((await invite()).status).toBe(201);
  const refused = await invite();
  expect(refused).toMatchObject({ status: 429, body: { name: 'rate_limit_exceeded' } });
  expect(refused.body.message).toContain('50 invitations within an hour');
  const { db, ids, clock } = scene.app.world;
  const columns = ['id', 'team_id', 'email', 'email_key', 'role', 'token_hash', 'invited_by'];
  const times = ['created_at', 'expires_at', 'mailed_at'];
  const now = clock.now();
  const planted = Array.from({ length: 50 }, () => {
    const email = newAddress();
    return [ids.uuid(), team.id, email, email, 'viewer', email, owner.userId, now, now + DAY_MS, now];
  });
  await db.insertMany('team_invitations', [...columns, ...times], planted);
  scene.clock.advance(3_600_000);
  expect((await invite()).status).toBe(201);
  const answer = await invite();
  expect([answer.status, answer.body.message]).toEqual([
    422,
    'A team has at most 100 open invitations; withdraw one first.',
  ]);
  await scene.settled();
});

it('a team may invite an address 3 times a day, withdrawn or not, and is then told the time to wait', async () => {
  const one = await inviting();
  const other = await inviting();
  const email = newAddress();
  const invite = ({ owner, path }: Inviting, to = email) => owner.call('POST', path, { email: to, role: 'viewer' });
  const forget = () => scene.app.jobs.find(({ name }) => name === 'remove-expired-sessions')?.run();
  for (let sent = 0; sent < 3; sent++) {
    const { id } = (await invite(one)).body;
    // A refused one does not count.
    expect(refusal(await invite(one))).toBe('409 resource_locked');
    expect(refusal(await one.owner.call('DELETE', `${one.path}/${id}`))).toBe('200');
  }
  scene.clock.advance(3_600_000);
  await forget();
  const refused = await invite(one);
  expect(refused).toMatchObject({
    status: 429,
    body: {
      name: 'rate_limit_exceeded',
      message: 'This team has invited this address 3 times within a day. Try again in 82800 s.',
    },
  });
  expect(refused.headers.get('retry-after')).toBe('82800');
  expect((await one.owner.call('GET', one.path)).body.data).toEqual([]);
  expect([(await invite(one, newAddress())).status, (await invite(other)).status]).toEqual([201, 201]);
  scene.clock.advance(DAY_MS - 3_600_000);
  await forget();
  expect((await invite(one)).status).toBe(201);
  await scene.settled();
});

it('an invitation is deleted 30 days after it ended', async () => {
  const { owner, path } = await inviting();
  await invited({ owner, path } as Inviting, newAddress());
  const forget = () => scene.app.jobs.find(({ name }) => name === 'forget-invitations')?.run();
  scene.clock.advance(37 * DAY_MS - 1000);
  await forget();
  expect((await owner.call('GET', path)).body.data).toHaveLength(1);
  scene.clock.advance(2000);
  await forget();
  expect((await owner.call('GET', path)).body.data).toEqual([]);
});

it('the audit log of the joined team names the people, whichever team they come from', async () => {
  const one = await inviting();
  const other = await scene.team();
  const person = await people.person({ team: other });
  const { id, token } = await invited(one, person.email, 'viewer');
  await accept(person, token);
  await accept(person, token);
  const { data } = (await one.owner.call('GET', '/audit')).body;
  expect(data.filter(({ action }: { action: string }) => action.startsWith('invitation.'))).toMatchObject([
    { action: 'invitation.accepted', team_id: one.team.id, actor: { kind: 'user', name: person.email } },
    {
      action: 'invitation.created',
      subject_id: id,
      actor: { kind: 'user', name: one.owner.email },
      details: { email: person.email, role: 'viewer' },
    },
  ]);
  expect(JSON.stringify(data)).not.toContain(token);
  expect((await scene.api('GET', '/audit', { key: other.key })).text).not.toContain('invitation.accepted');
});

it('an open invitation is void once its person is removed from the team or demoted', async () => {
  for (const isRemoved of [true, false]) {
    const found = await inviting();
    const email = newAddress();
    const { token } = await invited(found, email, 'admin');
    // The person joins the team in another way, such as the operator's command.
    const person = await people.person({ email, team: found.team, role: 'member' });
    const at = `/teams/${found.team.id}/members/${person.memberId}`;
    const changed = isRemoved
      ? await found.owner.call('DELETE', at)
      : await found.owner.call('PATCH', at, { role: 'viewer' });
    expect(changed.status).toBe(200);
    const again = await people.session(person);
    expect(refusal(await accept(again, token))).toBe('404 not_found');
  }
});

it('an invitation that was accepted by a member does not bring that person back after a removal', async () => {
  const found = await inviting();
  const email = newAddress();
  const { token } = await invited(found, email, 'admin');
  const person = await people.person({ email, team: found.team, role: 'member' });
  expect((await accept(person, token)).body).toMatchObject({ role: 'member' });
  expect((await found.owner.call('DELETE', `/teams/${found.team.id}/members/${person.memberId}`)).status).toBe(200);
  expect(refusal(await accept(await people.session(person), token))).toBe('404 not_found');
});
