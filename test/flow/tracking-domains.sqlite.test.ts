import { describe, expect, it } from 'vitest';
import { listCaptured, readCaptured } from '../../src/mail/capture/index.ts';
import { sweepDomains } from '../../src/mail/domain-dns/index.ts';
import { createVerifiedDomain } from '../../src/mail/domains/index.ts';
import { publish, startScene, type Scene, type Team } from '../rig/scene.ts';
import { follow, publishTracking, engagements, readMail, sendHtml, trackingDomain } from './reader.ts';

const HTML = '<a href="https://example.com/">x</a>';
const config = { tracking: { scheme: 'http' } } as const;

const fetchDomain = async (scene: Scene, team: Team, id: string) =>
  (await scene.api('GET', `/domains/${id}`, { key: team.key })).body;
const loadTrackingRecord = async (scene: Scene, team: Team, id: string) =>
  (await fetchDomain(scene, team, id)).records.find((record: { record: string }) => record.record === 'Tracking');
const change = (scene: Scene, team: Team, id: string, body: object) =>
  scene.api('PATCH', `/domains/${id}`, { key: team.key, body });
const isTracked = async (scene: Scene, team: Team, domain: { name: string }): Promise<boolean> => {
  const { links, pixel } = await sendHtml(scene, team, domain, { html: HTML });
  expect(links[0] === 'https://example.com/').toBe(pixel === undefined);
  return pixel !== undefined;
};

describe('the tracking record', () => {
  it('is required while opens or clicks are tracked, and leads to this installation', async () => {
    await using scene = await startScene({ config });
    const team = await scene.team();
    const body = { name: 'made.example.com', click_tracking: true, tracking_subdomain: 'Go' };
    const created = (await scene.api('POST', '/domains', { key: team.key, body })).body;
    const record = {
      record: 'Tracking',
      name: 'go.made.example.com',
      type: 'CNAME',
      ttl: 'Auto',
      value: 'rasket.test',
      required: false,
      diagnosis: null,
      found: null,
    };
    expect(created.records[3]).toEqual({ ...record, status: 'not_started' });
    await change(scene, team, created.id, { click_tracking: false });
    expect(await loadTrackingRecord(scene, team, created.id)).toBeUndefined();
    await change(scene, team, created.id, { open_tracking: true });
    expect(await loadTrackingRecord(scene, team, created.id)).toEqual({ ...record, status: 'not_started' });
  });

  it('is not required for sending, and mail is sent unchanged without it', async () => {
    await using scene = await startScene({ config });
    const team = await scene.team();
    const body = { name: 'unlinked.example.com', open_tracking: true, click_tracking: true };
    const { id, name, records } = (await scene.api('POST', '/domains', { key: team.key, body })).body;
    publish(scene.dns, { records: records.slice(0, 3) });
    scene.dns.set(`track.${name}`, 'ANY', 'NXDOMAIN');
    await scene.api('POST', `/domains/${id}/verify`, { key: team.key });
    expect(await fetchDomain(scene, team, id)).toMatchObject({
      status: 'verified',
      records: { 3: { status: 'pending' } },
    });
    expect(await isTracked(scene, team, { name })).toBe(false);
  });

  it('that leads elsewhere has failed, and one that the sweep finds later is used from then on', async () => {
    await using scene = await startScene({ config });
    const team = await scene.team();
    const domain = await team.domain();
    scene.dns.set(`track.${domain.name}`, 'CNAME', ['elsewhere.test']);
    await change(scene, team, domain.id, { open_tracking: true, click_tracking: true });
    expect(await loadTrackingRecord(scene, team, domain.id)).toMatchObject({ status: 'failed' });
    expect(await isTracked(scene, team, domain)).toBe(false);
    scene.dns.set(`track.${domain.name}`, 'CNAME', ['Rasket.TEST']);
    scene.clock.advance(61_000);
    await sweepDomains(scene.app.world);
    expect(await fetchDomain(scene, team, domain.id)).toMatchObject({
      status: 'verified',
      records: { 3: { status: 'verified' } },
    });
    expect(await isTracked(scene, team, domain)).toBe(true);
  });

  it('that exists already is found by the PATCH that requires it', async () => {
    await using scene = await startScene({ config });
    const team = await scene.team();
    const domain = await team.domain();
    scene.dns.set(`track.${domain.name}`, 'CNAME', ['rasket.test']);
    await change(scene, team, domain.id, { open_tracking: true, click_tracking: true });
    expect(await isTracked(scene, team, domain)).toBe(true);
    const events = await scene.events(domain.id);
    expect(events.at(-1)).toMatchObject({ type: 'domain.updated', data: { records: { 3: { status: 'verified' } } } });
    // Another setting leaves the record alone.
    await change(scene, team, domain.id, { tls: 'opportunistic', click_tracking: true });
    expect(await loadTrackingRecord(scene, team, domain.id)).toMatchObject({ status: 'verified' });
  });

  it('under another label is another record, and mail is unchanged until it is published', async () => {
    await using scene = await startScene({ config });
    const team = await scene.team();
    const domain = await trackingDomain(scene, team);
    const before = await sendHtml(scene, team, domain, { html: HTML });
    scene.dns.set(`go.${domain.name}`, 'ANY', 'NXDOMAIN');
    await change(scene, team, domain.id, { tracking_subdomain: 'go' });
    expect(await loadTrackingRecord(scene, team, domain.id)).toMatchObject({
      name: `go.${domain.name}`,
      status: 'pending',
    });
    expect(await isTracked(scene, team, domain)).toBe(false);
    // Links that were sent under the old label still redirect.
    expect((await follow(scene.url, before.links[0] ?? '')).status).toBe(302);
    scene.dns.set(`go.${domain.name}`, 'ANY', []);
    await publishTracking(scene, team, domain.id, { tracking_subdomain: 'go' });
    const after = await sendHtml(scene, team, domain, { html: HTML });
    expect(after.links[0]).toContain(`http://go.${domain.name}/c/`);
  });

  it('that was checked under a name before a change does not confirm the name after it', async () => {
    await using scene = await startScene({ config });
    const team = await scene.team();
    const domain = await trackingDomain(scene, team);
    scene.dns.set(`go.${domain.name}`, 'ANY', 'NXDOMAIN');
    scene.clock.advance(61_000);
    const release = scene.dns.hold();
    const asked = scene.dns.queries.length;
    const verifying = scene.api('POST', `/domains/${domain.id}/verify`, { key: team.key });
    while (scene.dns.queries.length < asked + 4) await new Promise((next) => setImmediate(next));
    // Another node does this, without waiting for DNS.
    const { db } = scene.app.world;
    await db.run(`update domains set tracking_subdomain = 'go' where id = ?`, [domain.id]);
    await db.run(
      `update domain_records set name = ?, status = 'not_started' where domain_id = ? and record = 'Tracking'`,
      [`go.${domain.name}`, domain.id],
    );
    release();
    await verifying;
    const sql = `select status from domain_records where domain_id = ? and record = 'Tracking'`;
    expect(await db.get(sql, [domain.id])).toEqual({ status: 'not_started' });
  });

  it('that disappears stops tracking and not sending', async () => {
    await using scene = await startScene({ config });
    const team = await scene.team();
    const domain = await trackingDomain(scene, team);
    scene.dns.set(`track.${domain.name}`, 'ANY', 'SERVFAIL');
    scene.clock.advance(61_000);
    await sweepDomains(scene.app.world);
    expect(await isTracked(scene, team, domain)).toBe(true);
    scene.dns.set(`track.${domain.name}`, 'CNAME', ['elsewhere.test']);
    scene.clock.advance(61_000);
    await sweepDomains(scene.app.world);
    expect(await fetchDomain(scene, team, domain.id)).toMatchObject({
      status: 'verified',
      records: { 3: { status: 'failed' } },
    });
    expect(await isTracked(scene, team, domain)).toBe(false);
  });

  it('cannot use the name of the return path', async () => {
    await using scene = await startScene({ config });
    const team = await scene.team();
    const domain = await team.domain();
    const clash = {
      status: 400,
      body: {
        name: 'validation_error',
        errors: [{ path: 'tracking_subdomain', message: expect.stringContaining('"send"') }],
      },
    };
    expect(await change(scene, team, domain.id, { tracking_subdomain: 'send', open_tracking: true })).toMatchObject(
      clash,
    );
    const body = { name: 'clash.example.com', tracking_subdomain: 'Send', click_tracking: true };
    expect(await scene.api('POST', '/domains', { key: team.key, body })).toMatchObject(clash);
    // Nothing is published while nothing is tracked.
    expect((await change(scene, team, domain.id, { tracking_subdomain: 'send' })).status).toBe(200);
    expect(await change(scene, team, domain.id, { click_tracking: true })).toMatchObject(clash);
  });

  it('fits into DNS up to its last character', async () => {
    await using scene = await startScene({ config });
    const team = await scene.team();
    const name = `${['a', 'b', 'c'].map((letter) => letter.repeat(60)).join('.')}.example.com`;
    const domain = await team.domain(name);
    const room = 253 - name.length - 1;
    const tooLong = await change(scene, team, domain.id, {
      open_tracking: true,
      tracking_subdomain: 'x'.repeat(room + 1),
    });
    expect(tooLong).toMatchObject({ status: 400, body: { errors: [{ path: 'tracking_subdomain' }] } });
    expect(tooLong.body.message).toContain('254 characters; at most 253');
    expect(
      (await change(scene, team, domain.id, { open_tracking: true, tracking_subdomain: 'x'.repeat(room) })).status,
    ).toBe(200);
  });
});

it('open tracking or click tracking alone changes only its own part of the mail', async () => {
  await using scene = await startScene({ config });
  const team = await scene.team();
  const domain = await trackingDomain(scene, team);
  await change(scene, team, domain.id, { open_tracking: false });
  const clicks = await sendHtml(scene, team, domain, { html: HTML });
  expect([clicks.links[0], clicks.pixel]).toEqual([expect.stringContaining('/c/'), undefined]);
  await change(scene, team, domain.id, { open_tracking: true, click_tracking: false });
  const opens = await sendHtml(scene, team, domain, { html: HTML });
  expect([opens.links[0], opens.pixel]).toEqual(['https://example.com/', expect.stringContaining('/o/')]);
});

it('links lead to the server itself in the development profile, without a DNS record', async () => {
  await using scene = await startScene({
    config: { delivery: { capture: true, smtp_port: 1 }, tracking: { scanner_seconds: 0 } },
  });
  const team = await scene.team();
  const { world } = scene.app;
  const domain = await createVerifiedDomain(world, team.id, 'dev.example.com');
  await change(scene, team, domain.id, { open_tracking: true, click_tracking: true });
  expect(await fetchDomain(scene, team, domain.id)).toMatchObject({
    status: 'verified',
    records: { 3: { status: 'verified' } },
  });
  const body = { from: `a@${domain.name}`, to: 'x@example.org', subject: 'Hello', html: HTML };
  const { id } = (await scene.api('POST', '/emails', { key: team.key, body })).body;
  await scene.settled();
  const [caught] = await listCaptured(world.db, 1);
  const message = (await readCaptured(world.db, world.blobs, caught?.id ?? ''))?.message ?? Buffer.alloc(0);
  const { links, pixel = '' } = await readMail(message);
  expect([links[0], pixel].every((address) => address?.startsWith(`${scene.url}/`))).toBe(true);
  expect((await follow(scene.url, links[0] ?? '')).headers.location).toBe('https://example.com/');
  await follow(scene.url, pixel);
  expect((await engagements(scene, id)).map((event) => event.type)).toEqual(['email.clicked', 'email.opened']);
});
