import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { composeSwitchedOff, findDomain, switchOff } from '../../../src/mail/domains/index.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';
import { createClaiming, HOUR_MS, MINUTE_MS } from './claiming.ts';

let scene: Scene;
beforeAll(async () => {
  // A held look-up must not count as unanswered: the resolver waits longer than answers usually take, and asks again.
  scene = await startScene({ config: { dns: { timeout_ms: 20_000, tries: 10 } } });
});
afterAll(() => scene.close());

const { claim, claimed, domainOf, prove, publishDomain, read, recheck, send, sweep, verify } = createClaiming(
  () => scene,
);

/** Holds queries from now on until the second function is called; queries after the first are answered. */
function holdQuestions(): [ask: () => void, answer: () => void] {
  const answer = scene.dns.hold();
  return [() => scene.dns.hold()(), answer];
}

/** Starts the verification, whose DNS answer is held until `answer` is called. */
async function verifyHeldBack(claimant: Team, opened: Parameters<typeof verify>[1]) {
  const asked = scene.dns.queries.length;
  const answer = scene.dns.hold();
  const taking = verify(claimant, opened);
  await expect.poll(() => scene.dns.queries.length).toBeGreaterThan(asked);
  return { taking, answer };
}

const holders = async (name: string): Promise<unknown[]> =>
  scene.app.world.db.all('select id from domains where name = ? and verified_at is not null', [name]);

it('only one of two proven claims at the same moment completes', async () => {
  for (let round = 0; round < 3; round++) {
    const { owner, held, claimant, name, opened } = await claimed();
    const other = await scene.team();
    const { body: theirs } = await claim(other, name);
    prove(opened, theirs);
    await Promise.all([publishDomain(claimant, opened.domain_id), publishDomain(other, theirs.domain_id)]);
    prove(opened, theirs);
    await Promise.all([verify(claimant, opened), verify(other, theirs), recheck()]);
    const ends = [(await read(claimant, opened)).status, (await read(other, theirs)).status];
    expect(ends.toSorted()).toEqual(['completed', 'superseded']);
    expect((await domainOf(owner, held.id)).status).toBe('failed');
    expect((await holders(name)).length).toBeLessThanOrEqual(1);
    const told = (await scene.events(held.id)).filter((event) => event.data?.['status'] === 'failed');
    expect(told).toHaveLength(1);
  }
});

it('one claim verified many times at once completes once', async () => {
  const { claimant, held, opened } = await claimed();
  prove(opened);
  const answers = await Promise.all([verify(claimant, opened), verify(claimant, opened), recheck(), recheck()]);
  expect(answers.slice(0, 2).map((answer) => (answer as { status: number }).status)).toContain(200);
  expect((await read(claimant, opened)).status).toBe('completed');
  expect((await scene.events(held.id)).filter((event) => event.data?.['status'] === 'failed')).toHaveLength(1);
});

describe('a DNS check that began before the name changed hands', () => {
  it('does not verify the copy of the old owner again', async () => {
    const { owner, held, claimant, opened } = await claimed();
    prove(opened);
    const asked = scene.dns.queries.length;
    const [askOn, answer] = holdQuestions();
    const looking = scene.api('POST', `/domains/${held.id}/verify`, { key: owner.key });
    await expect.poll(() => scene.dns.queries.length).toBeGreaterThan(asked + 2);
    askOn();
    const taking = verify(claimant, opened);
    await expect.poll(async () => (await read(claimant, opened)).status).toBe('completed');
    answer();
    await Promise.all([looking, taking]);
    expect((await domainOf(owner, held.id)).status).toBe('failed');
    expect(await holders(opened.name)).toEqual([]);
    scene.clock.advance(HOUR_MS);
    await sweep();
    expect(await holders(opened.name)).toEqual([]);
  });

  it('verifies the claimant’s copy only if the name has become free', async () => {
    const { claimant, opened, name, owner, held } = await claimed();
    await publishDomain(claimant, opened.domain_id);
    const refused = await scene.api('POST', `/domains/${opened.domain_id}/verify`, { key: claimant.key });
    expect(refused).toMatchObject({ status: 409, body: { name: 'resource_locked', claimable: true } });
    prove(opened);
    await Promise.all([verify(claimant, opened), sweep()]);
    expect((await read(claimant, opened)).status).toBe('completed');
    expect(await holders(name)).toEqual([{ id: opened.domain_id }]);
    expect((await domainOf(owner, held.id)).status).toBe('failed');
  });
});

describe('the DNS check of a claim', () => {
  it('completes the claim when the owner removes the domain meanwhile', async () => {
    const { owner, held, claimant, opened } = await claimed();
    prove(opened);
    const { taking, answer } = await verifyHeldBack(claimant, opened);
    await scene.api('DELETE', `/domains/${held.id}`, { key: owner.key });
    answer();
    expect((await taking).body.status).toBe('completed');
    expect((await scene.events(held.id)).map((event) => event.type).at(-1)).toBe('domain.deleted');
  });

  it('completes nothing when the claimant removes its copy meanwhile', async () => {
    const { owner, held, claimant, opened } = await claimed();
    prove(opened);
    const { taking, answer } = await verifyHeldBack(claimant, opened);
    await scene.api('DELETE', `/domains/${opened.domain_id}`, { key: claimant.key });
    answer();
    expect((await taking).status).toBe(404);
    expect((await domainOf(owner, held.id)).status).toBe('verified');
    const row = await scene.app.world.db.get('select status from domain_claims where id = ?', [opened.id]);
    expect(row).toEqual({ status: 'canceled' });
  });

  it('completes nothing when the claim expires meanwhile', async () => {
    const { owner, held, claimant, opened } = await claimed();
    prove(opened);
    scene.clock.advance(7 * 24 * HOUR_MS - 1);
    const { taking, answer } = await verifyHeldBack(claimant, opened);
    scene.clock.advance(1);
    answer();
    expect((await taking).body.status).toBe('expired');
    expect((await domainOf(owner, held.id)).status).toBe('verified');
  });
});

describe('a send during a claim', () => {
  it('a send during the DNS check of the claim keeps the name', async () => {
    const { owner, claimant, name, opened } = await claimed();
    prove(opened);
    const { taking, answer } = await verifyHeldBack(claimant, opened);
    expect((await send(owner, name)).status).toBe(200);
    answer();
    expect((await taking).body).toMatchObject({ status: 'pending', blocked_reason: 'recent_owner_activity' });
    await scene.settled();
  });

  it('with several sends and a claim at the same moment, either the name stays or nothing is sent', async () => {
    for (let round = 0; round < 4; round++) {
      const { owner, claimant, name, opened } = await claimed();
      prove(opened);
      const before = scene.sink.messages.length;
      const sends = Array.from({ length: 8 }, () => send(owner, name));
      const [{ body }, ...answers] = await Promise.all([verify(claimant, opened), ...sends]);
      await scene.settled();
      const sent = scene.sink.messages.length - before;
      if (body.status === 'completed') expect(sent).toBe(0);
      else {
        expect(body.blocked_reason).toBe('recent_owner_activity');
        expect(sent).toBe(answers.filter((answer) => answer.status === 200).length);
      }
    }
  });

  it('an email accepted just before the name was lost is not signed with its keys', async () => {
    const { owner, held, name } = await claimed();
    const at = new Date(scene.clock.now() + HOUR_MS).toISOString();
    const { body: email } = await send(owner, name, { scheduled_at: at });
    const { world } = scene.app;
    const row = await findDomain(world.db, owner.id, held.id);
    if (!row) throw new Error('the domain is there');
    const off = await composeSwitchedOff(world, row);
    await world.db.tx((tx) => switchOff(world, tx, row, off));
    const before = scene.sink.messages.length;
    scene.clock.advance(HOUR_MS);
    await scene.settled();
    scene.clock.advance(50 * HOUR_MS);
    await scene.settled();
    scene.clock.advance(MINUTE_MS);
    await scene.settled();
    expect(scene.sink.messages.length).toBe(before);
    expect(['delivered', 'sent']).not.toContain((await scene.account(owner, email.id)).state);
  });
});
