import http from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readStsPolicy, readStsRecord, stsPolicyId } from '../../../src/protocol/mta-sts.ts';
import type { AnyBody } from '../../rig/api.ts';
import { publish, startScene, type Scene, type Team } from '../../rig/scene.ts';

const DAY_MS = 86_400_000;
const WEEK_MS = 7 * DAY_MS;

let scene: Scene;
beforeAll(async () => {
  scene = await startScene();
});
afterAll(() => scene.close());

const change = (team: Team, id: string, body: object) => scene.api('PATCH', `/domains/${id}`, { key: team.key, body });
const read = async (team: Team, id: string): Promise<AnyBody> =>
  (await scene.api('GET', `/domains/${id}`, { key: team.key })).body;
const sweep = () => scene.app.jobs.find((job) => job.name === 'sweep-domains')?.run();
const findRecords = (body: AnyBody): { type: string; name: string; value: string; status: string }[] =>
  body.records.filter(({ record }: { record: string }) => record === 'MTA-STS');
const findText = (body: AnyBody) => findRecords(body).find(({ type }) => type === 'TXT');

async function verify(team: Team, id: string): Promise<void> {
  scene.clock.advance(60_000);
  expect((await scene.api('POST', `/domains/${id}/verify`, { key: team.key })).status).toBe(200);
}

/** Publishes what the domain asks for now, and has it verified. */
async function publishAndVerify(team: Team, id: string): Promise<AnyBody> {
  publish(scene.dns, await read(team, id));
  await verify(team, id);
  return read(team, id);
}

let count = 0;
/** Creates a verified domain that receives. */
async function receivingDomain(team: Team, more: object = {}): Promise<{ id: string; name: string }> {
  const name = `sts${++count}.example.com`;
  scene.dns.set(name, 'MX', ['10 rasket.test']);
  const body = { name, capabilities: { receiving: 'enabled' }, ...more };
  const created = await scene.api('POST', '/domains', { key: team.key, body });
  expect(created.status, created.text).toBe(201);
  await publishAndVerify(team, created.body.id);
  return { id: created.body.id, name };
}

/** Reads the policy as a mail server does, from the port behind a proxy. */
async function fetchPolicy(host: string, { method = 'GET', path = '/.well-known/mta-sts.txt', agent = {} } = {}) {
  const options = {
    host: '127.0.0.1',
    port: scene.app.http?.port,
    path,
    method,
    headers: { host, ...agent },
    agent: false,
  };
  return new Promise<{ status: number; headers: http.IncomingHttpHeaders; body: string }>((resolve, reject) => {
    http
      .request(options, (response) => {
        text(response).then(
          (body) => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }),
          reject,
        );
      })
      .on('error', reject)
      .end();
  });
}

const servedAt = async (name: string) => {
  const { status, body } = await fetchPolicy(`mta-sts.${name}`);
  return status === 200 ? readStsPolicy(body) : status;
};

describe('MTA-STS of a domain that receives', () => {
  it('is off at first, starts in testing, and is enforced on request once its records are verified', async () => {
    const team = await scene.team();
    const { id, name } = await receivingDomain(team);
    expect([(await read(team, id)).mta_sts, findRecords(await read(team, id))]).toEqual(['off', []]);
    expect(await servedAt(name)).toBe(404);

    expect((await change(team, id, { mta_sts: 'testing' })).body).toEqual({ object: 'domain', id });
    const asked = await read(team, id);
    expect([asked.status, asked.mta_sts]).toEqual(['verified', 'testing']);
    expect(findRecords(asked)).toMatchObject([
      { type: 'CNAME', name: `mta-sts.${name}`, value: 'rasket.test', status: 'pending', required: false },
      { type: 'TXT', name: `_mta-sts.${name}`, status: 'pending', required: false },
    ]);
    expect(await servedAt(name)).toBe(404);
    const early = await change(team, id, { mta_sts: 'enforce' });
    expect([early.status, early.body.message]).toEqual([
      422,
      `mta_sts: the CNAME record at mta-sts.${name} and the TXT record at _mta-sts.${name} are not verified; publish what is asked for, verify the domain, and try again.`,
    ]);

    const seen = await publishAndVerify(team, id);
    expect(findRecords(seen).map(({ status }) => status)).toEqual(['verified', 'verified']);
    expect(await servedAt(name)).toEqual({ mode: 'testing', maxAgeSeconds: 86_400, mx: ['rasket.test'] });
    const { body } = await fetchPolicy(`mta-sts.${name}`);
    expect(readStsRecord([findText(seen)?.value ?? ''])).toEqual({ id: stsPolicyId(body) });

    expect((await change(team, id, { mta_sts: 'enforce' })).body).toEqual({ object: 'domain', id });
    expect(await servedAt(name)).toEqual({ mode: 'enforce', maxAgeSeconds: 604_800, mx: ['rasket.test'] });
    const next = findText(await read(team, id));
    expect(next?.value).not.toBe(findText(seen)?.value);
    expect(next).toMatchObject({ status: 'failed', diagnosis: expect.any(String) });
    expect(findRecords(await publishAndVerify(team, id)).map(({ status }) => status)).toEqual(['verified', 'verified']);
    expect((await change(team, id, { mta_sts: 'enforce', tls: 'enforced' })).status).toBe(200);
  });

  it('may be turned on with the domain, and never starts with enforce', async () => {
    const team = await scene.team();
    const { id, name } = await receivingDomain(team, { mta_sts: 'testing' });
    expect(findRecords(await read(team, id)).map(({ status }) => status)).toEqual(['verified', 'verified']);
    expect(await servedAt(name)).toMatchObject({ mode: 'testing' });
    const other = await receivingDomain(team);
    scene.dns.set('never.example.com', 'MX', ['10 rasket.test']);
    for (const refused of [
      await change(team, other.id, { mta_sts: 'enforce' }),
      await scene.api('POST', '/domains', {
        key: team.key,
        body: { name: 'never.example.com', mta_sts: 'enforce', capabilities: { receiving: 'enabled' } },
      }),
    ]) {
      expect([refused.status, refused.body.name, refused.body.message]).toEqual([
        422,
        'validation_error',
        'mta_sts: a policy starts in testing; set it to testing first, and to enforce later.',
      ]);
    }
  });

  it('is not enforced while the MX record of the domain is not verified', async () => {
    const team = await scene.team();
    const { id, name } = await receivingDomain(team, { mta_sts: 'testing' });
    scene.dns.set(name, 'MX', ['10 mx.elsewhere.example']);
    await verify(team, id);
    const refused = await change(team, id, { mta_sts: 'enforce' });
    expect([refused.status, refused.body.message]).toEqual([
      422,
      `mta_sts: the MX record at ${name} is not verified; publish what is asked for, verify the domain, and try again.`,
    ]);
    await publishAndVerify(team, id);
    expect((await change(team, id, { mta_sts: 'enforce' })).status).toBe(200);
  });

  it('is refused for a domain that does not receive, and where its host has another use', async () => {
    const team = await scene.team();
    const sending = await team.domain();
    const refused = await change(team, sending.id, { mta_sts: 'testing' });
    expect([refused.status, refused.body.message]).toEqual([
      422,
      'mta_sts: the domain does not receive mail here; set capabilities.receiving to enabled first.',
    ]);
    const { id } = await receivingDomain(team, { mta_sts: 'testing' });
    const both = await change(team, id, { mta_sts: 'testing', capabilities: { receiving: 'disabled' } });
    expect(both.status).toBe(422);
    const tracked = await change(team, id, { open_tracking: true, tracking_subdomain: 'mta-sts' });
    expect([tracked.status, tracked.body.message]).toEqual([422, expect.stringContaining('is used for tracked links')]);
    const path = await receivingDomain(team, { custom_return_path: 'mta-sts' });
    expect((await change(team, path.id, { mta_sts: 'testing' })).body.message).toContain('is used for the return path');
    expect((await change(team, id, { mta_sts: 'on' })).body.message).toContain(
      'mta_sts must be off, testing or enforce',
    );
  });

  it('serves only its policy, at its host, to GET and HEAD', async () => {
    const team = await scene.team();
    const { name } = await receivingDomain(team, { mta_sts: 'testing' });
    const whole = await fetchPolicy(`MTA-STS.${name}:443`);
    expect(whole).toMatchObject({
      status: 200,
      headers: { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' },
      body: 'version: STSv1\r\nmode: testing\r\nmax_age: 86400\r\nmx: rasket.test\r\n',
    });
    const head = await fetchPolicy(`mta-sts.${name}`, { method: 'HEAD' });
    expect([head.status, head.headers['content-length'], head.body]).toEqual([200, String(whole.body.length), '']);
    const posted = await fetchPolicy(`mta-sts.${name}`, { method: 'POST' });
    expect([posted.status, posted.headers.allow]).toEqual([405, 'GET, HEAD']);
    for (const host of [name, 'rasket.test', 'mta-sts.unknown.example', `mta-sts.mta-sts.${name}`, 'mta-sts.', '']) {
      expect([host, (await fetchPolicy(host)).status]).toEqual([host, 404]);
    }
    const other = { path: '/.well-known/mta-sts.txt.bak', agent: { 'user-agent': 'test' } };
    expect((await fetchPolicy(`mta-sts.${name}`, other)).status).toBe(404);
  });

  it('is not served while its host points elsewhere', async () => {
    const team = await scene.team();
    const { id, name } = await receivingDomain(team, { mta_sts: 'testing' });
    scene.dns.set(`mta-sts.${name}`, 'CNAME', ['elsewhere.example']);
    await verify(team, id);
    expect((await read(team, id)).status).toBe('verified');
    expect(await servedAt(name)).toBe(404);
  });
});

describe('the end of MTA-STS', () => {
  const NONE = { mode: 'none', maxAgeSeconds: 86_400, mx: [] };

  it('publishes none until no sender can apply the former policy, and then wants no records', async () => {
    const team = await scene.team();
    const { id, name } = await receivingDomain(team, { mta_sts: 'testing' });
    await change(team, id, { mta_sts: 'enforce' });
    await publishAndVerify(team, id);
    // Senders may have cached the enforced policy until now.
    await change(team, id, { mta_sts: 'testing' });
    const until = scene.clock.now() + WEEK_MS;
    await publishAndVerify(team, id);
    scene.clock.advance(DAY_MS);
    const answer = await change(team, id, { mta_sts: 'off' });
    const endsAt = new Date(until).toISOString();
    expect(answer.body).toEqual({ object: 'domain', id, mta_sts_ends_at: endsAt });
    expect(await read(team, id)).toMatchObject({ mta_sts: 'off', mta_sts_ends_at: endsAt, status: 'verified' });
    expect(await servedAt(name)).toEqual(NONE);
    const { body } = await fetchPolicy(`mta-sts.${name}`);
    expect(findText(await read(team, id))?.value).toBe(`v=STSv1; id=${stsPolicyId(body)}`);
    await publishAndVerify(team, id);

    scene.clock.advance(until - scene.clock.now() - 1);
    await sweep();
    expect([await servedAt(name), findRecords(await read(team, id)).length]).toEqual([NONE, 2]);
    scene.clock.advance(1);
    expect(await servedAt(name)).toBe(404);
    await sweep();
    const after = await read(team, id);
    expect([findRecords(after), after.mta_sts_ends_at]).toEqual([[], undefined]);
    expect(await scene.app.world.db.all('select * from sts_withdrawals where name = ?', [name])).toEqual([]);
  });

  it('follows from switching receiving off', async () => {
    const team = await scene.team();
    const { id, name } = await receivingDomain(team, { mta_sts: 'testing' });
    const answer = await change(team, id, { capabilities: { receiving: 'disabled' } });
    expect(answer.body.mta_sts_ends_at).toBe(new Date(scene.clock.now() + DAY_MS).toISOString());
    expect(await servedAt(name)).toEqual(NONE);
    expect(await read(team, id)).toMatchObject({ mta_sts: 'off', capabilities: { receiving: 'disabled' } });
    expect(findRecords(await read(team, id))).toHaveLength(2);
  });

  it('needs no withdrawal if no sender ever read a policy', async () => {
    const team = await scene.team();
    const { id, name } = await receivingDomain(team);
    await change(team, id, { mta_sts: 'testing' });
    expect((await change(team, id, { mta_sts: 'off' })).body).toEqual({ object: 'domain', id });
    expect([await servedAt(name), findRecords(await read(team, id))]).toEqual([404, []]);
  });

  it('may be taken back: the policy is served again, and the former one is remembered', async () => {
    const team = await scene.team();
    const { id, name } = await receivingDomain(team, { mta_sts: 'testing' });
    await change(team, id, { mta_sts: 'enforce' });
    const until = new Date(scene.clock.now() + WEEK_MS).toISOString();
    await change(team, id, { mta_sts: 'off' });
    await change(team, id, { mta_sts: 'testing' });
    expect(await servedAt(name)).toMatchObject({ mode: 'testing' });
    expect((await read(team, id)).mta_sts_ends_at).toBeUndefined();
    expect((await change(team, id, { mta_sts: 'off' })).body.mta_sts_ends_at).toBe(until);
  });

  it('outlives the domain, and a new copy of the name asks for its records until then', async () => {
    const team = await scene.team();
    const { id, name } = await receivingDomain(team, { mta_sts: 'testing' });
    const removed = await scene.api('DELETE', `/domains/${id}`, { key: team.key });
    const until = scene.clock.now() + DAY_MS;
    expect(removed.body).toEqual({
      object: 'domain',
      id,
      deleted: true,
      mta_sts_ends_at: new Date(until).toISOString(),
      records: [
        expect.objectContaining({ type: 'CNAME', name: `mta-sts.${name}`, value: 'rasket.test', status: 'verified' }),
        expect.objectContaining({ type: 'TXT', name: `_mta-sts.${name}`, status: 'pending' }),
      ],
    });
    const { body: text } = await fetchPolicy(`mta-sts.${name}`);
    expect(readStsRecord([removed.body.records[1].value])?.id).toBe(stsPolicyId(text));
    expect(await servedAt(name)).toEqual(NONE);

    const again = await scene.api('POST', '/domains', { key: team.key, body: { name } });
    const seen = await publishAndVerify(team, again.body.id);
    expect(seen).toMatchObject({ status: 'verified', mta_sts: 'off', mta_sts_ends_at: new Date(until).toISOString() });
    expect(findRecords(seen)).toHaveLength(2);
    expect(await servedAt(name)).toEqual(NONE);
    scene.clock.advance(until - scene.clock.now());
    expect(await servedAt(name)).toBe(404);
  });

  it('a copy of the name at another team changes nothing, and the team that takes the name withdraws the policy', async () => {
    const owner = await scene.team();
    const claimant = await scene.team();
    const { id, name } = await receivingDomain(owner, { mta_sts: 'testing' });
    scene.clock.advance(3 * DAY_MS);
    const claim = await scene.api('POST', '/domains/claim', { key: claimant.key, body: { name } });
    expect(claim.status, claim.text).toBeLessThan(300);
    const copy = claim.body.domain_id as string;
    expect(await servedAt(name)).toMatchObject({ mode: 'testing' });

    scene.dns.set(claim.body.record.name, 'TXT', [claim.body.record.value]);
    scene.clock.advance(60_000);
    const done = await scene.api('POST', `/domains/${copy}/claim/verify`, { key: claimant.key });
    expect(done.body.status, done.text).toBe('completed');
    const endsAt = new Date(scene.clock.now() + DAY_MS).toISOString();
    expect(await servedAt(name)).toEqual(NONE);
    const former = await read(owner, id);
    expect([former.mta_sts, former.mta_sts_ends_at, findRecords(former)]).toEqual(['off', undefined, []]);
    const taken = await read(claimant, copy);
    expect([taken.mta_sts, taken.mta_sts_ends_at]).toEqual(['off', endsAt]);
    expect(findRecords(taken)).toHaveLength(2);

    expect((await change(owner, id, { mta_sts: 'off' })).body).toEqual({ object: 'domain', id });
    await scene.api('DELETE', `/domains/${id}`, { key: owner.key });
    expect(await servedAt(name)).toEqual(NONE);
  });
});
