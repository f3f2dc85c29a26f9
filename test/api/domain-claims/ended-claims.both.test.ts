import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startScene, type Scene } from '../../rig/scene.ts';
import { createClaiming, HOUR_MS, MINUTE_MS, newName } from './claiming.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ config: { dns: { timeout_ms: 2000, tries: 1 } } });
});
afterAll(() => scene.close());

const { claim, claimed, domainOf, prove, publishDomain, read, recheck, send, verify } = createClaiming(() => scene);
const DAY_MS = 24 * HOUR_MS;

describe('a claim ends without completion', () => {
  const ended = async (claimId: string) =>
    scene.app.world.db.get('select status, concluded_at from domain_claims where id = ?', [claimId]);

  it('after exactly 7 days', async () => {
    const first = await claimed();
    const second = await claimed();
    scene.clock.advance(7 * DAY_MS - 1 - 72 * HOUR_MS);
    prove(first.opened);
    expect((await verify(first.claimant, first.opened)).body.status).toBe('completed');
    scene.clock.advance(1 + 72 * HOUR_MS);
    prove(second.opened);
    const over = { status: 'expired', failure_reason: expect.stringContaining('7 days') as string };
    expect(await read(second.claimant, second.opened)).toMatchObject(over);
    expect((await verify(second.claimant, second.opened)).body).toMatchObject(over);
    await recheck();
    expect(await ended(second.opened.id)).toEqual({ status: 'expired', concluded_at: scene.clock.now() });
    expect((await domainOf(second.owner, second.held.id)).status).toBe('verified');
  });

  it('with the reason if something blocked it to its end', async () => {
    const { claimant, owner, name, opened } = await claimed();
    prove(opened);
    await send(owner, name, { scheduled_at: new Date(scene.clock.now() + 20 * DAY_MS).toISOString() });
    await verify(claimant, opened);
    scene.clock.advance(7 * DAY_MS);
    const over = {
      status: 'expired',
      blocked_reason: null,
      failure_reason: expect.stringContaining('still used it') as string,
    };
    expect(await read(claimant, opened)).toMatchObject(over);
    await recheck();
    expect(await read(claimant, opened)).toMatchObject(over);
  });

  it('and then a new one can be opened with another text, which the old record does not prove', async () => {
    const { claimant, name, opened } = await claimed();
    prove(opened);
    scene.clock.advance(7 * DAY_MS);
    const { status, body: again } = await claim(claimant, name);
    expect([status, again.domain_id]).toEqual([201, opened.domain_id]);
    expect([again.id, again.record.value]).not.toEqual([opened.id, opened.record.value]);
    expect(await ended(opened.id)).toMatchObject({ status: 'expired' });
    expect(await read(claimant, opened)).toEqual(again);
    expect((await verify(claimant, again)).body.status).toBe('pending');
  });

  it('when another team completes its claim', async () => {
    const { claimant, name, opened } = await claimed();
    const other = await scene.team();
    const { body: theirs } = await claim(other, name);
    prove(theirs, opened);
    await verify(other, theirs);
    const over = { status: 'superseded', failure_reason: expect.stringContaining('Another team') as string };
    expect(await read(claimant, opened)).toMatchObject(over);
    expect((await verify(claimant, opened)).body).toMatchObject(over);
  });

  it('when the team verifies the name without it', async () => {
    const { claimant, owner, held, opened } = await claimed();
    await scene.api('DELETE', `/domains/${held.id}`, { key: owner.key });
    await publishDomain(claimant, opened.domain_id);
    await scene.api('POST', `/domains/${opened.domain_id}/verify`, { key: claimant.key });
    const over = { status: 'superseded', failure_reason: expect.stringContaining('without the claim') as string };
    expect(await read(claimant, opened)).toMatchObject(over);
    await recheck();
    expect(await read(claimant, opened)).toMatchObject(over);
  });

  it('when the claimant removes its copy', async () => {
    const { claimant, owner, held, name, opened } = await claimed();
    prove(opened);
    await scene.api('DELETE', `/domains/${opened.domain_id}`, { key: claimant.key });
    expect((await verify(claimant, opened)).status).toBe(404);
    await recheck();
    expect(await ended(opened.id)).toMatchObject({ status: 'canceled' });
    expect((await domainOf(owner, held.id)).status).toBe('verified');
    const { status, body: again } = await claim(claimant, name);
    expect(status).toBe(201);
    expect(again.domain_id).not.toBe(opened.domain_id);
  });

  it('when the team is suspended', async () => {
    const { claimant, owner, held, opened } = await claimed();
    prove(opened);
    const suspend = (state: string) =>
      scene.app.world.db.run('update teams set risk_state = ? where id = ?', [state, claimant.id]);
    await suspend('suspended');
    await recheck();
    await suspend('normal');
    expect(await read(claimant, opened)).toMatchObject({
      status: 'failed',
      failure_reason: expect.stringContaining('suspended') as string,
    });
    expect((await domainOf(owner, held.id)).status).toBe('verified');
  });
});

describe('the hourly check of claims', () => {
  it('completes proven claims, checks every open claim once, and skips ended ones', async () => {
    await recheck();
    const claims = await Promise.all(Array.from({ length: 3 }, () => claimed()));
    const [first] = claims;
    if (first) prove(first.opened);
    scene.clock.advance(MINUTE_MS);
    const asked = scene.dns.queries.length;
    const done = await recheck();
    expect(done).toMatchObject({ completed: 1 });
    const names = claims.map(({ name }) => name);
    const questions = scene.dns.queries.slice(asked).filter(({ type, name }) => type === 'TXT' && names.includes(name));
    expect(questions.map(({ name }) => name).sort()).toEqual(names.toSorted());
    expect(
      (await Promise.all(claims.map(({ claimant, opened }) => read(claimant, opened)))).map((one) => one.status),
    ).toEqual(['completed', 'pending', 'pending']);
    await recheck();
    expect(await recheck()).toEqual({ ended: 0, checked: 0, completed: 0 });
  });

  it('goes through more than one batch, each claim once', async () => {
    const { claimant, opened } = await claimed();
    const { db, ids } = scene.app.world;
    const domain = await db.get('select * from domains where id = ?', [opened.domain_id]);
    const row = await db.get('select * from domain_claims where id = ?', [opened.id]);
    if (!domain || !row) throw new Error('the claim and its copy are there');
    const copies = Array.from({ length: 120 }, () => ({ id: ids.uuid(), claim: ids.uuid(), name: newName() }));
    await db.insertMany(
      'domains',
      Object.keys(domain),
      copies.map(({ id, name }) => Object.values({ ...domain, id, name })),
    );
    await db.insertMany(
      'domain_claims',
      Object.keys(row),
      copies.map(({ id, claim: claimId, name }) => Object.values({ ...row, id: claimId, domain_id: id, name })),
    );
    const asked = scene.dns.queries.length;
    await recheck();
    const seen = scene.dns.queries.slice(asked).map(({ name }) => name);
    for (const { name } of copies) expect(seen.filter((other) => other === name)).toHaveLength(1);
    expect((await read(claimant, opened)).record.status).toBe('pending');
  });

  it('tries a claim that cannot be completed once per run without blocking others, and tries it again later', async () => {
    const broken = await claimed();
    const sound = await claimed();
    prove(broken.opened);
    prove(sound.opened);
    const { db } = scene.app.world;
    const isIt = `id = '${broken.opened.id}' and status = 'completed'`;
    const [plant, remove] =
      db.dialect === 'pg'
        ? [
            `alter table domain_claims add constraint planted check (not (${isIt})) not valid`,
            'alter table domain_claims drop constraint planted',
          ]
        : [
            `create trigger planted before update on domain_claims when new.${isIt.replace(' and ', ' and new.')}
              begin select raise(abort, 'planted'); end`,
            'drop trigger planted',
          ];
    await db.run(plant);
    try {
      expect(await recheck()).toMatchObject({ completed: 1 });
    } finally {
      await db.run(remove);
    }
    expect((await read(sound.claimant, sound.opened)).status).toBe('completed');
    expect((await domainOf(broken.owner, broken.held.id)).status).toBe('verified');
    expect(await recheck()).toMatchObject({ completed: 0 });
    scene.clock.advance(HOUR_MS);
    expect(await recheck()).toMatchObject({ completed: 1 });
    expect((await read(broken.claimant, broken.opened)).status).toBe('completed');
  });

  it('does not skip other claims when a name server is silent about one name', async () => {
    const one = await claimed();
    const other = await claimed();
    prove(other.opened);
    scene.dns.set(one.name, 'TXT', 'TIMEOUT');
    await recheck();
    expect((await read(other.claimant, other.opened)).status).toBe('completed');
    expect((await read(one.claimant, one.opened)).record.status).toBe('temporary_failure');
  });
});
