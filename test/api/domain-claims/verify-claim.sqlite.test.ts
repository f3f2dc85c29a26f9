import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { claimsToCheck, noteTried } from '../../../src/mail/domain-claims/index.ts';
import { startScene, type Scene } from '../../rig/scene.ts';
import { createClaiming, HOUR_MS, MINUTE_MS } from './claiming.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ config: { dns: { timeout_ms: 2000, tries: 1 } } });
});
afterAll(() => scene.close());

const { claim, claimed, domainOf, prove, publishDomain, read, recheck, send, sweep, verify } = createClaiming(
  () => scene,
);
const DAY_MS = 24 * HOUR_MS;

const loadTypes = async (id: string) =>
  (await scene.events(id)).map((event) => `${event.type} ${String(event.data?.['status'])}`);

describe('the record of a claim', () => {
  const cases: { why: string; answer: string[] | 'SERVFAIL' | 'TIMEOUT' | 'NXDOMAIN'; status: string; says: string }[] =
    [
      { why: 'nothing is published', answer: [], status: 'pending', says: 'no TXT record' },
      { why: 'the name does not exist', answer: 'NXDOMAIN', status: 'pending', says: 'no TXT record' },
      { why: 'other texts are published', answer: ['v=spf1 -all'], status: 'pending', says: 'one TXT record' },
      {
        why: 'another claim’s text is published',
        answer: ['rasket-domain-verification=00'],
        status: 'failed',
        says: 'a different value',
      },
      { why: 'the name server fails', answer: 'SERVFAIL', status: 'temporary_failure', says: 'servfail' },
      { why: 'the name server is silent', answer: 'TIMEOUT', status: 'temporary_failure', says: 'timeout' },
    ];
  it.each(cases)(
    'leaves the claim pending and reveals nothing of the owner in this case: $why',
    async ({ answer, status, says }) => {
      const { claimant, owner, name, held, opened } = await claimed();
      await send(owner, name);
      await scene.settled();
      scene.dns.set(name, 'TXT', answer);
      const { status: code, body } = await verify(claimant, opened);
      expect(code).toBe(200);
      expect(body).toEqual({
        ...opened,
        record: { ...opened.record, status, diagnosis: expect.stringContaining(says) as string },
      });
      expect(await read(claimant, opened)).toEqual(body);
      expect((await domainOf(owner, held.id)).status).toBe('verified');
    },
  );

  it('is looked up at the root of the name and nowhere else', async () => {
    const { claimant, name, opened } = await claimed();
    for (const near of [`send.${name}`, `www.${name}`, name.split('.').slice(1).join('.')]) {
      scene.dns.set(near, 'TXT', [opened.record.value]);
    }
    expect((await verify(claimant, opened)).body).toMatchObject({ status: 'pending', record: { status: 'pending' } });
    scene.dns.set(name.split('.').slice(1).join('.'), 'TXT', []);
  });

  it('is looked up again each time, whatever the resolver has cached', async () => {
    const { claimant, opened } = await claimed();
    await verify(claimant, opened);
    prove(opened);
    scene.clock.advance(MINUTE_MS);
    expect((await verify(claimant, opened)).body.status).toBe('completed');
  });

  it('counts only for its own claim', async () => {
    const { claimant, name, opened } = await claimed();
    const other = await scene.team();
    const { body: theirs } = await claim(other, name);
    prove(theirs);
    expect((await verify(claimant, opened)).body).toMatchObject({ status: 'pending', record: { status: 'failed' } });
  });

  it('that is deleted hides the reason of the block again', async () => {
    const { claimant, owner, name, opened } = await claimed();
    await send(owner, name);
    await scene.settled();
    prove(opened);
    expect((await verify(claimant, opened)).body.blocked_reason).toBe('recent_owner_activity');
    scene.dns.set(name, 'TXT', []);
    scene.clock.advance(DAY_MS);
    expect((await verify(claimant, opened)).body).toMatchObject({ status: 'pending', blocked_reason: null });
  });
});

describe('the verification limit of once a minute', () => {
  it('refuses a second call with the seconds to wait, and sends no DNS query', async () => {
    const { claimant, opened } = await claimed();
    await verify(claimant, opened);
    scene.clock.advance(15_500);
    const asked = scene.dns.queries.length;
    const refused = await verify(claimant, opened);
    expect(refused).toMatchObject({ status: 429, body: { name: 'rate_limit_exceeded' } });
    expect(refused.headers.get('retry-after')).toBe('45');
    expect(scene.dns.queries.length).toBe(asked);
    scene.clock.advance(44_499);
    expect((await verify(claimant, opened)).status).toBe(429);
    scene.clock.advance(1);
    expect((await verify(claimant, opened)).status).toBe(200);
  });

  it('does not delay the verification of the domain that was won', async () => {
    const { claimant, opened } = await claimed();
    prove(opened);
    expect((await verify(claimant, opened)).body.status).toBe('completed');
    await publishDomain(claimant, opened.domain_id);
    expect((await scene.api('POST', `/domains/${opened.domain_id}/verify`, { key: claimant.key })).status).toBe(200);
    expect((await domainOf(claimant, opened.domain_id)).status).toBe('verified');
  });

  it('does not apply to a claim that has ended', async () => {
    const { claimant, opened } = await claimed();
    prove(opened);
    const { body } = await verify(claimant, opened);
    const asked = scene.dns.queries.length;
    for (const again of [await verify(claimant, opened), await verify(claimant, opened)]) {
      expect([again.status, again.body]).toEqual([200, body]);
    }
    expect(scene.dns.queries.length).toBe(asked);
  });
});

describe('recent activity of the owner', () => {
  it('blocks a claim if the domain was verified less than 72 hours ago', async () => {
    const owner = await scene.team();
    const claimant = await scene.team();
    const { name } = await owner.domain();
    const { body: opened } = await claim(claimant, name);
    prove(opened);
    scene.clock.advance(72 * HOUR_MS - 1);
    const blocked = {
      status: 'pending',
      blocked_reason: 'grace_period',
      record: { status: 'verified', diagnosis: null },
    };
    expect((await verify(claimant, opened)).body).toMatchObject(blocked);
    expect(await read(claimant, opened)).toMatchObject(blocked);
    scene.clock.advance(1);
    await recheck();
    expect(await read(claimant, opened)).toMatchObject({
      status: 'completed',
      blocked_reason: null,
      failure_reason: null,
    });
  });

  // Sends are counted by quarters of an hour: these are its first and last moment, and some within.
  it.each([0, 1, 7 * MINUTE_MS, 15 * MINUTE_MS - 1])(
    'blocks a claim if it was a send within 24 hours, %d ms into a quarter of an hour',
    async (offsetMs) => {
      const { owner, claimant, name, opened } = await claimed();
      prove(opened);
      const quarter = 15 * MINUTE_MS;
      scene.clock.advance(quarter - (scene.clock.now() % quarter) + offsetMs);
      expect((await send(owner, name)).status).toBe(200);
      await scene.settled();
      scene.clock.advance(24 * HOUR_MS - 1);
      expect((await verify(claimant, opened)).body).toMatchObject({
        status: 'pending',
        blocked_reason: 'recent_owner_activity',
      });
      scene.clock.advance(1);
      await recheck();
      expect(await read(claimant, opened)).toMatchObject({ status: 'completed' });
    },
  );

  it('does not include sends from other domains of the owner, or from domains of other teams', async () => {
    const { owner, claimant, opened } = await claimed();
    const busy = await owner.domain();
    const stranger = await scene.team();
    const theirs = await stranger.domain();
    await send(owner, busy.name);
    await send(stranger, theirs.name);
    await scene.settled();
    prove(opened);
    expect((await verify(claimant, opened)).body.status).toBe('completed');
  });

  it('blocks a claim while accepted mail waits for its first attempt', async () => {
    await using still = await startScene({ roles: ['http'] });
    const { claimed: claimedHere, prove: proveHere, send: sendHere, verify: verifyHere } = createClaiming(() => still);
    const { owner, claimant, name, opened } = await claimedHere();
    proveHere(opened);
    expect((await sendHere(owner, name)).status).toBe(200);
    still.clock.advance(48 * HOUR_MS);
    expect((await verifyHere(claimant, opened)).body.blocked_reason).toBe('recent_owner_activity');
  });

  it('blocks a claim while mail is scheduled from the domain, until that is canceled', async () => {
    const { owner, claimant, name, opened } = await claimed();
    prove(opened);
    const at = new Date(scene.clock.now() + 6 * DAY_MS).toISOString();
    const { body: email } = await send(owner, name, { scheduled_at: at });
    scene.clock.advance(5 * DAY_MS);
    expect((await verify(claimant, opened)).body).toMatchObject({
      status: 'pending',
      blocked_reason: 'pending_scheduled_emails',
    });
    await scene.api('POST', `/emails/${email.id}/cancel`, { key: owner.key });
    await recheck();
    expect((await read(claimant, opened)).status).toBe('pending');
    scene.clock.advance(HOUR_MS);
    await recheck();
    expect((await read(claimant, opened)).status).toBe('completed');
  });

  it('blocks nothing once nobody holds the name any more', async () => {
    const { owner, claimant, held, name, opened } = await claimed();
    await send(owner, name);
    await scene.settled();
    await scene.api('DELETE', `/domains/${held.id}`, { key: owner.key });
    prove(opened);
    expect((await verify(claimant, opened)).body.status).toBe('completed');
  });
});

describe('a name that changes hands', () => {
  it('has its old copy switched off with an event for its owner, and its new copy verified by its own records', async () => {
    const { owner, claimant, held, name, opened } = await claimed();
    const before = await domainOf(owner, held.id);
    const copy = await domainOf(claimant, opened.domain_id);
    prove(opened);
    const { body } = await verify(claimant, opened);
    expect(body).toEqual({ ...opened, status: 'completed', record: { ...opened.record, status: 'verified' } });

    const after = await domainOf(owner, held.id);
    expect(after).toMatchObject({ status: 'failed', capabilities: { sending: 'pending' } });
    expect(after.records[0].name).not.toBe(before.records[0].name);
    expect((await send(owner, name)).status).toBe(403);
    expect((await loadTypes(held.id)).slice(2)).toEqual(['domain.updated failed']);
    expect((await domainOf(claimant, opened.domain_id)).status).toBe('pending');
    expect((await send(claimant, name)).status).toBe(403);

    await publishDomain(claimant, copy.id);
    scene.clock.advance(HOUR_MS);
    await sweep();
    expect((await domainOf(claimant, copy.id)).status).toBe('verified');
    expect((await domainOf(claimant, copy.id)).records[0].name).toBe(copy.records[0].name);
    expect(await loadTypes(copy.id)).toEqual([
      'domain.created not_started',
      'domain.updated pending',
      'domain.updated verified',
    ]);
    const { body: email } = await send(claimant, name);
    await scene.settled();
    expect((await scene.account(claimant, email.id)).state).toBe('delivered');
  });

  it('is verified in the same call if the new records were already published', async () => {
    const { claimant, name, opened } = await claimed();
    await publishDomain(claimant, opened.domain_id);
    prove(opened);
    await verify(claimant, opened);
    expect((await domainOf(claimant, opened.domain_id)).status).toBe('verified');
    expect((await send(claimant, name)).status).toBe(200);
  });

  it('is not proven by what the old owner still has in DNS', async () => {
    const { owner, claimant, held, opened } = await claimed();
    prove(opened);
    await verify(claimant, opened);
    for (const _ of [1, 2]) {
      scene.clock.advance(HOUR_MS);
      await sweep();
    }
    expect((await domainOf(owner, held.id)).status).toBe('failed');
    const again = await scene.api('POST', `/domains/${held.id}/verify`, { key: owner.key });
    expect(again).toMatchObject({ status: 409, body: { claimable: true } });
    expect((await domainOf(owner, held.id)).status).toBe('failed');
    expect((await loadTypes(held.id)).slice(2)).toEqual(['domain.updated failed']);
  });

  it('has its old keys deleted from the database', async () => {
    const { claimant, held, opened } = await claimed();
    const keys = () => scene.app.world.db.all('select selector from dkim_keys where domain_id = ?', [held.id]);
    const before = (await keys()).map((key) => key.selector);
    prove(opened);
    await verify(claimant, opened);
    expect((await keys()).filter((key) => before.includes(key.selector))).toEqual([]);
  });

  it('stops receiving mail for the old copy', async () => {
    const { owner, claimant, held, name, opened } = await claimed();
    const change = await scene.api('PATCH', `/domains/${held.id}`, {
      key: owner.key,
      body: { capabilities: { receiving: 'enabled' }, confirm_replace_mx: true },
    });
    expect(change.status).toBe(200);
    scene.dns.set(name, 'MX', ['10 rasket.test']);
    prove(opened);
    await verify(claimant, opened);
    expect((await domainOf(owner, held.id)).capabilities).toEqual({ sending: 'pending', receiving: 'disabled' });
    scene.clock.advance(HOUR_MS);
    await sweep();
    expect((await domainOf(owner, held.id)).status).toBe('failed');
  });

  it('can be claimed back by the old owner, and everything begins again', async () => {
    const { owner, claimant, held, name, opened } = await claimed();
    await publishDomain(claimant, opened.domain_id);
    prove(opened);
    await verify(claimant, opened);
    const { status, body: back } = await claim(owner, name);
    expect([status, back.domain_id]).toEqual([201, held.id]);
    prove(back);
    expect((await verify(owner, back)).body.blocked_reason).toBe('grace_period');
    scene.clock.advance(72 * HOUR_MS);
    expect((await verify(owner, back)).body.status).toBe('completed');
    expect((await domainOf(claimant, opened.domain_id)).status).toBe('failed');
    expect((await read(claimant, opened)).status).toBe('completed');
  });
});

it('a claim that could not be checked is moved after the others of the hour', async () => {
  const first = await claimed();
  const second = await claimed();
  const { db, clock } = scene.app.world;
  const ids = [first, second].map(({ opened }) => opened.id as string);
  const order = async (): Promise<string[]> =>
    (await claimsToCheck(db, clock.now() + HOUR_MS, 1000)).map(({ id }) => id).filter((id) => ids.includes(id));
  expect(await order()).toEqual(ids);
  scene.clock.advance(MINUTE_MS);
  await noteTried(db, ids[0] ?? '', clock.now());
  expect(await order()).toEqual(ids.toReversed());
});
