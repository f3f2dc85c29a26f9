// two teams with domains at the old host name --> the name changes --> nothing is lost until the grace period ends
import http from 'node:http';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sweepDomains } from '../../src/mail/domain-dns/index.ts';
import { listHostRecords } from '../../src/mail/domains/index.ts';
import { closeWorld, openWorld } from '../../src/open-world.ts';
import { beginHostChange, finishHostChange } from '../../src/tenancy/instance/index.ts';
import type { AnyBody } from '../rig/api.ts';
import { bringMail } from '../rig/mx.ts';
import { publish, startScene, type Scene, type Team } from '../rig/scene.ts';

const OLD = 'rasket.test';
const NEW = 'mx.rasket.example';
const DAY_MS = 86_400_000;

interface Owned {
  team: Team;
  id: string;
  name: string;
}

let scene: Scene;
let owned: Owned[];
beforeEach(async () => {
  scene = await startScene({ roles: ['http', 'delivery', 'receiving'] });
  owned = [await receive('a.example.com'), await receive('b.example.com')];
});
afterEach(() => scene.close());

const read = async ({ team, id }: Owned): Promise<AnyBody> =>
  (await scene.api('GET', `/domains/${id}`, { key: team.key })).body;

async function sweep(): Promise<void> {
  scene.clock.advance(60_000);
  await scene.app.jobs.find(({ name }) => name === 'sweep-domains')?.run();
}

/** Creates a verified domain with every record that contains the host name. */
async function receive(name: string): Promise<Owned> {
  const team = await scene.team();
  scene.dns.set(name, 'MX', [`10 ${OLD}`]);
  const body = { name, capabilities: { receiving: 'enabled' }, mta_sts: 'testing', click_tracking: true };
  const created = await scene.api('POST', '/domains', { key: team.key, body });
  expect(created.status, created.text).toBe(201);
  const domain = { team, id: created.body.id as string, name };
  publish(scene.dns, created.body);
  expect((await scene.api('POST', `/domains/${domain.id}/verify`, { key: team.key })).status).toBe(200);
  expect((await read(domain)).status).toBe('verified');
  return domain;
}

/** Changes the name as `rasket host change` and a restart do. */
async function changeHost(): Promise<void> {
  await beginHostChange(scene.app.world, { from: OLD, to: NEW });
  await scene.restart({ instance: { ...scene.app.world.config.instance, host: NEW } });
}

/** Returns the records that contain the host name. */
const hosted = ({
  records,
}: AnyBody): { type: string; name: string; value: string; status: string; diagnosis: string | null }[] =>
  records.filter(({ value }: { value: string }) => value.includes(OLD) || value.includes(NEW));

async function listFindings({ team }: Owned): Promise<{ code: string; summary: string }[]> {
  const { body } = await scene.api('GET', '/findings', { key: team.key });
  // The certificate of a scene is self-signed.
  return (body.findings as { code: string; summary: string }[]).filter(
    ({ code }) => code !== 'certificate_self_signed',
  );
}

/** Returns the mail servers of the policy that is served for a domain. */
async function policyAt(name: string): Promise<string[]> {
  const options = { host: '127.0.0.1', port: scene.app.http?.port, headers: { host: `mta-sts.${name}` } };
  const body = await new Promise<string>((resolve, reject) => {
    const request = http.get({ ...options, path: '/.well-known/mta-sts.txt' });
    request.on('error', reject).on('response', (response) => void text(response).then(resolve, reject));
  });
  return body.split('\r\n').filter((line) => line.startsWith('mx: '));
}

describe('in the grace period of a change of the host name', () => {
  it('records with the old name keep every domain of every team verified, and the domain asks for the new name', async () => {
    await changeHost();
    for (const domain of owned) {
      const body = await read(domain);
      expect(hosted(body).map(({ value }) => value.includes(NEW))).toEqual([true, true, true, true, true]);
      expect(hosted(body).map(({ status }) => status)).toEqual(Array(5).fill('verified'));
    }
    for (let day = 0; day < 29; day += 7) {
      await sweep();
      for (const domain of owned) {
        const body = await read(domain);
        expect([body.status, body.capabilities]).toEqual(['verified', { sending: 'verified', receiving: 'verified' }]);
        expect(hosted(body).map(({ status }) => status)).toEqual(Array(5).fill('verified'));
        for (const { diagnosis } of hosted(body)) expect(diagnosis).toContain(`contains ${OLD}, the other host name`);
        expect(await listFindings(domain)).toMatchObject([
          { code: 'former_host_named', summary: expect.stringContaining(`${domain.name} contain ${OLD}`) },
        ]);
      }
      scene.clock.advance(7 * DAY_MS - 60_000);
    }
  });

  it('the records of every domain are listed by their owners, with the value to publish now', async () => {
    await changeHost();
    const listed = await listHostRecords(scene.app.world);
    const kinds = ['SPF', 'Receiving', 'Tracking', 'MTA-STS'];
    for (const { team, name } of owned) {
      const own = listed.filter(({ domain }) => domain === name);
      expect(new Set(own.map(({ teamId }) => teamId))).toEqual(new Set([team.id]));
      expect(new Set(own.map(({ record }) => record.record))).toEqual(new Set(kinds));
      for (const { record, isHeld } of own) {
        expect(record.value).not.toContain(OLD);
        expect(isHeld).toBe(true);
      }
    }
    expect(new Set(listed.map(({ domain }) => domain))).toEqual(new Set(owned.map(({ name }) => name)));
  });

  it('mail leaves with the new EHLO name and is delivered, and the old one still receives', async () => {
    await changeHost();
    for (const { team, name } of owned) {
      const body = { from: `a@${name}`, to: 'x@example.org', subject: 's', text: 't' };
      const sent = await scene.api('POST', '/emails', { key: team.key, body });
      expect(sent.status, sent.text).toBe(200);
      await scene.settled();
      expect((await scene.account(team, sent.body.id as string)).state).toBe('delivered');
    }
    const greetings = scene.sink.commands.filter((line) => line.startsWith('EHLO'));
    expect(new Set(greetings)).toEqual(new Set([`EHLO ${NEW}`]));
    const raw = 'From: a@example.org\r\nSubject: Hello\r\n\r\nHello\r\n';
    expect(await bringMail(scene, { to: ['hello@a.example.com'], raw })).toMatch(/^250 /);
    const reply = 'This address accepts only complaints';
    for (const host of [OLD, NEW]) expect(await bringMail(scene, { to: [`fbl@${host}`], raw })).toContain(reply);
    expect(await bringMail(scene, { to: ['fbl@elsewhere.example'], raw })).not.toContain(reply);
  });

  it('a policy lists the mail server by both names, under an id that the domain asks for', async () => {
    const ids = async () =>
      (await read(owned[0]!)).records.find(({ name }: { name: string }) => name.startsWith('_mta-sts.'))?.value;
    const before = await ids();
    expect(await policyAt('a.example.com')).toEqual([`mx: ${OLD}`]);
    await beginHostChange(scene.app.world, { from: OLD, to: NEW });
    // The settings of this node name the old host until it is restarted.
    expect(await policyAt('a.example.com')).toEqual([`mx: ${NEW}`, `mx: ${OLD}`]);
    await changeHost();
    expect(await policyAt('a.example.com')).toEqual([`mx: ${NEW}`, `mx: ${OLD}`]);
    await sweep();
    const during = await ids();
    expect(during).not.toBe(before);
    await finishHostChange(scene.app.world);
    expect(await policyAt('a.example.com')).toEqual([`mx: ${NEW}`]);
    await sweep();
    expect(new Set([before, during, await ids()]).size).toBe(3);
  });

  it('records with the new name, or with both, are verified', async () => {
    await changeHost();
    const [both, renewed] = owned as [Owned, Owned];
    for (const name of [both.name, `send.${both.name}`]) scene.dns.set(name, 'MX', [`10 ${OLD}`, `10 ${NEW}`]);
    scene.dns.set(`send.${both.name}`, 'TXT', [[`v=spf1 a:${OLD} a:${NEW} ~all`]]);
    publish(scene.dns, await read(renewed));
    await sweep();
    const [mx, spf, receiving] = hosted(await read(both));
    expect([mx?.status, spf?.status, receiving?.status]).toEqual(['verified', 'verified', 'verified']);
    expect(spf?.diagnosis).toBe(null);
    // The record with the old name has to go before it no longer counts.
    expect(receiving?.diagnosis).toContain(`contains ${OLD}`);
    expect(hosted(await read(renewed)).map(({ diagnosis }) => diagnosis)).toEqual(Array(5).fill(null));
    await sweep();
    expect(await listFindings(renewed)).toEqual([]);
    expect(await listFindings(both)).toHaveLength(1);
  });

  it('a node with the former settings and one with the new ones verify the same records', async () => {
    const { config, clock, log } = scene.app.world;
    await changeHost();
    const former = await openWorld({ config, dataDir: scene.dataDir, clock, log });
    try {
      for (const world of [former, scene.app.world, former, scene.app.world]) {
        scene.clock.advance(60_000);
        await sweepDomains(world);
        for (const domain of owned) {
          const body = await read(domain);
          expect([body.status, ...hosted(body).map(({ status }) => status)]).toEqual(Array(6).fill('verified'));
        }
      }
    } finally {
      await closeWorld(former);
    }
  });
});

it('after the grace period the diagnosis asks for the new name, and the domain stays verified for another three days', async () => {
  await changeHost();
  await sweep();
  scene.clock.advance(31 * DAY_MS);
  await sweep();
  for (const domain of owned) {
    const body = await read(domain);
    expect([body.status, hosted(body)[0]?.status]).toEqual(['verified', 'temporary_failure']);
    expect(hosted(body).map(({ value }) => value.includes(NEW))).toEqual(Array(5).fill(true));
    for (const { diagnosis } of hosted(body)) expect(diagnosis).toMatch(/is not what was asked for/);
    expect((await listFindings(domain)).map(({ code }) => code)).toEqual(['domain_losing_records']);
    expect(await policyAt(domain.name)).toEqual([]);
  }
  scene.clock.advance(3 * DAY_MS);
  await sweep();
  expect((await read(owned[0]!)).status).toBe('failed');
  publish(scene.dns, await read(owned[0]!));
  await sweep();
  expect((await read(owned[0]!)).status).toBe('verified');
});

it('a host name that was changed in the settings alone has no grace period', async () => {
  await scene.restart({ instance: { ...scene.app.world.config.instance, host: NEW } });
  await sweep();
  await sweep();
  expect(hosted(await read(owned[0]!)).map(({ status }) => status)).not.toContain('verified');
});
