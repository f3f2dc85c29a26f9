import { createRequire } from 'node:module';
import { describe, expect, it } from 'vitest';
import type { Config, DeepPartial } from '../../../src/platform/config/index.ts';
import { publish, startScene, type Scene, type Team } from '../../rig/scene.ts';

const { dkimVerify } = createRequire(import.meta.url)('mailauth/lib/dkim/verify') as {
  dkimVerify: (
    message: Buffer,
    options: { resolver: (name: string) => Promise<string[][]> },
  ) => Promise<{ results: { selector: string; status: { result: string } }[] }>;
};

interface Published {
  record: string;
  name: string;
  type: 'TXT';
  value: string;
  status: string;
  required: boolean;
  key_status?: 'active' | 'incoming' | 'retiring';
}

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

const rotate = (scene: Scene, team: Team, id: string) =>
  scene.api('POST', `/domains/${id}/dkim/rotate`, { key: team.key });
const read = async (scene: Scene, team: Team, id: string) =>
  (await scene.api('GET', `/domains/${id}`, { key: team.key })).body as { status: string; records: Published[] };
const keysIn = (records: Published[], state: Published['key_status']) =>
  records.filter(({ key_status }) => key_status === state).map(({ name }) => name);
const sweep = (scene: Scene) => scene.app.jobs.find((job) => job.name === 'sweep-domains')?.run();
/** Makes the keys older by so much; the clock itself would fire a week of timers. */
const age = (scene: Scene, id: string, ms: number) =>
  scene.app.world.db.run('update dkim_keys set status_at = status_at - ? where domain_id = ?', [ms, id]);
async function nextSweep(scene: Scene): Promise<void> {
  scene.clock.advance(1);
  await sweep(scene);
}
async function verify(scene: Scene, team: Team, id: string): Promise<void> {
  scene.clock.advance(MINUTE_MS);
  expect((await scene.api('POST', `/domains/${id}/verify`, { key: team.key })).status).toBe(200);
}

let mails = 0;
/** Sends one mail and returns its signatures, with the result of a receiver that queries our DNS for each. */
async function signatures(scene: Scene, team: Team, domain: { name: string }): Promise<Record<string, string>> {
  const to = `m${++mails}@example.org`;
  const body = { from: `a@${domain.name}`, to, subject: 'Hello', text: 'Hello' };
  expect((await scene.api('POST', '/emails', { key: team.key, body })).status).toBe(200);
  await scene.settled();
  const message = scene.sink.messages.find(({ rcptTo }) => rcptTo.includes(to));
  const resolver = async (name: string) => {
    const answer = await scene.app.world.resolver.txt(name, { cache: false });
    if (answer.kind !== 'found') throw Object.assign(new Error(name), { code: 'ENOTFOUND' });
    return answer.records.map((text) => [text]);
  };
  const { results } = await dkimVerify(message?.data ?? Buffer.alloc(0), { resolver });
  return Object.fromEntries(
    results.map(({ selector, status }) => [`${selector}._domainkey.${domain.name}`, status.result]),
  );
}
const allPass = (names: string[]) => Object.fromEntries(names.map((name) => [name, 'pass']));
const scened = (config: DeepPartial<Config> = {}) => startScene({ config });

describe('a key rotation', () => {
  it('leaves no moment without a valid signature, from the first key to the second and on', async () => {
    await using scene = await scened();
    const team = await scene.team();
    const domain = await team.domain();
    const old = keysIn((await read(scene, team, domain.id)).records, 'active');
    const begun = await rotate(scene, team, domain.id);
    expect(begun).toMatchObject({ status: 200, body: { object: 'domain', id: domain.id, status: 'verified' } });
    const incoming = keysIn(begun.body.records, 'incoming');
    expect([old.length, incoming.length, keysIn(begun.body.records, 'active')]).toEqual([2, 2, old]);
    // The new record is not there yet: the old key signs.
    await verify(scene, team, domain.id);
    expect(await signatures(scene, team, domain)).toEqual(allPass(old));
    publish(scene.dns, begun.body);
    // It is published, and not checked yet.
    expect(await signatures(scene, team, domain)).toEqual(allPass(old));
    await verify(scene, team, domain.id);
    expect(await signatures(scene, team, domain)).toEqual(allPass(incoming));
    const after = await read(scene, team, domain.id);
    expect([after.status, keysIn(after.records, 'active'), keysIn(after.records, 'retiring')]).toEqual([
      'verified',
      incoming,
      old,
    ]);
    expect(after.records[0]).toMatchObject({ name: incoming[0], required: true, status: 'verified' });
    // Mail signed by the old key still arrives: its record is required for seven more days.
    await age(scene, domain.id, 7 * DAY_MS - 2);
    await nextSweep(scene);
    expect(keysIn((await read(scene, team, domain.id)).records, 'retiring')).toEqual(old);
    await nextSweep(scene);
    const last = await read(scene, team, domain.id);
    expect(last.records.filter(({ record }) => record === 'DKIM').map(({ name }) => name)).toEqual(incoming);
    expect(await scene.app.world.db.all('select id from dkim_keys where domain_id = ?', [domain.id])).toHaveLength(2);
    const told = (await scene.events(domain.id)).map(({ type, data }) => [
      type,
      (data!['records'] as Published[]).filter(({ record }) => record === 'DKIM').length,
    ]);
    expect(told).toEqual([
      ['domain.created', 2],
      ['domain.updated', 2],
      ['domain.updated', 4],
      ['domain.updated', 4],
      ['domain.updated', 2],
    ]);
  });

  it('that is requested again, or twice at once, is the one already in progress', async () => {
    await using scene = await scened();
    const team = await scene.team();
    const domain = await team.domain();
    const answers = await Promise.all([1, 2, 3].map(() => rotate(scene, team, domain.id)));
    answers.push(await rotate(scene, team, domain.id));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    const [first] = answers.map(({ body }) => keysIn(body.records, 'incoming'));
    for (const { body } of answers) expect(keysIn(body.records, 'incoming')).toEqual(first);
    expect((await scene.events(domain.id)).filter(({ type }) => type === 'domain.updated')).toHaveLength(2);
  });

  it('is completed by the sweep, and the old key may disappear as soon as the new one signs', async () => {
    await using scene = await scened();
    const team = await scene.team();
    const domain = await team.domain();
    const { body } = await rotate(scene, team, domain.id);
    publish(scene.dns, body);
    scene.clock.advance(MINUTE_MS);
    await sweep(scene);
    for (const name of keysIn(body.records, 'active')) scene.dns.set(name, 'TXT', 'NXDOMAIN');
    scene.clock.advance(MINUTE_MS);
    await sweep(scene);
    const after = await read(scene, team, domain.id);
    expect(after.status).toBe('verified');
    expect(keysIn(after.records, 'active')).toEqual(keysIn(body.records, 'incoming'));
    expect(await signatures(scene, team, domain)).toEqual(allPass(keysIn(body.records, 'incoming')));
  });

  it('is canceled when the keys are regenerated', async () => {
    await using scene = await scened();
    const team = await scene.team();
    const domain = await team.domain();
    await rotate(scene, team, domain.id);
    scene.clock.advance(MINUTE_MS);
    const body = { key_bits: 1024 };
    const answer = await scene.api('POST', `/domains/${domain.id}/dkim/regenerate`, { key: team.key, body });
    expect([keysIn(answer.body.records, 'incoming'), keysIn(answer.body.records, 'active').length]).toEqual([[], 2]);
  });

  it('of a short key makes a short key', async () => {
    await using scene = await scened({ domains: { ed25519: false } });
    const team = await scene.team();
    const domain = await team.domain();
    scene.clock.advance(MINUTE_MS);
    const short = { key: team.key, body: { key_bits: 1024 } };
    publish(scene.dns, (await scene.api('POST', `/domains/${domain.id}/dkim/regenerate`, short)).body);
    await verify(scene, team, domain.id);
    const { body } = await rotate(scene, team, domain.id);
    const lengths = (body.records as Published[])
      .filter(({ record }) => record === 'DKIM')
      .map(({ value }) => value.length);
    expect(lengths).toEqual([234, 234]);
  });

  it('of an unverified domain is refused with a hint', async () => {
    await using scene = await scened();
    const team = await scene.team();
    const { body } = await scene.api('POST', '/domains', { key: team.key, body: { name: 'new.example.com' } });
    expect(await rotate(scene, team, body.id)).toMatchObject({
      status: 422,
      body: { name: 'validation_error', message: expect.stringContaining('regenerate its keys') },
    });
    const stranger = await scene.team();
    expect((await rotate(scene, stranger, body.id)).status).toBe(404);
    const fields = { key: team.key, body: { key_bits: 2048 } };
    expect((await scene.api('POST', `/domains/${body.id}/dkim/rotate`, fields)).status).toBe(400);
  });
});

describe('an automatic key rotation', () => {
  it('begins once when the keys have signed for the configured time', async () => {
    await using scene = await scened({ domains: { rotate_days: 30 } });
    const team = await scene.team();
    const domain = await team.domain();
    await age(scene, domain.id, 30 * DAY_MS - 2);
    await nextSweep(scene);
    expect(keysIn((await read(scene, team, domain.id)).records, 'incoming')).toEqual([]);
    await nextSweep(scene);
    const begun = await read(scene, team, domain.id);
    expect(keysIn(begun.records, 'incoming')).toHaveLength(2);
    await age(scene, domain.id, 40 * DAY_MS);
    await nextSweep(scene);
    expect(keysIn((await read(scene, team, domain.id)).records, 'incoming')).toEqual(keysIn(begun.records, 'incoming'));
    // The count starts again on the day on which the new ones sign.
    publish(scene.dns, begun);
    await nextSweep(scene);
    await nextSweep(scene);
    const turned = await read(scene, team, domain.id);
    expect(keysIn(turned.records, 'active')).toEqual(keysIn(begun.records, 'incoming'));
    expect(keysIn((await read(scene, team, domain.id)).records, 'incoming')).toEqual([]);
  });

  it('is off unless it is configured', async () => {
    await using scene = await scened();
    const team = await scene.team();
    const domain = await team.domain();
    await age(scene, domain.id, 2000 * DAY_MS);
    await nextSweep(scene);
    expect(keysIn((await read(scene, team, domain.id)).records, 'incoming')).toEqual([]);
  });
});

describe('the Ed25519 key', () => {
  it('signs together with the RSA key while its record is seen, and nothing waits for it', async () => {
    await using scene = await scened();
    const team = await scene.team();
    const { body } = await scene.api('POST', '/domains', { key: team.key, body: { name: 'twice.example.com' } });
    const records = body.records as Published[];
    const [rsa = '', ed25519 = ''] = keysIn(records, 'active');
    publish(scene.dns, { records: records.filter(({ required }) => required) });
    scene.dns.set(ed25519, 'TXT', 'NXDOMAIN');
    await verify(scene, team, body.id);
    expect((await read(scene, team, body.id)).status).toBe('verified');
    expect(await signatures(scene, team, body)).toEqual(allPass([rsa]));
    publish(scene.dns, body);
    await verify(scene, team, body.id);
    expect(await signatures(scene, team, body)).toEqual(allPass([rsa, ed25519]));
    scene.dns.set(ed25519, 'TXT', ['v=DKIM1; k=ed25519; p=']);
    await verify(scene, team, body.id);
    expect(await signatures(scene, team, body)).toEqual(allPass([rsa]));
    expect((await read(scene, team, body.id)).status).toBe('verified');
  });

  it('is not created if it is switched off in the configuration', async () => {
    await using scene = await scened({ domains: { ed25519: false } });
    const team = await scene.team();
    const domain = await team.domain();
    const { records } = await read(scene, team, domain.id);
    expect(keysIn(records, 'active')).toHaveLength(1);
    expect(await signatures(scene, team, domain)).toEqual(allPass(keysIn(records, 'active')));
  });
});
