import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { forgetIdempotencyKeys } from '../../../src/features/installation/upkeep/remove-expired.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

const HOUR_MS = 3_600_000;

describe('Idempotency-Key on POST /emails', () => {
  let scene: Scene;
  let team: Team;
  let domain: string;
  beforeAll(async () => {
    scene = await startScene();
    team = await scene.team();
    domain = (await team.domain()).name;
  });
  afterAll(() => scene.close());

  const message = () => ({ from: `a@${domain}`, to: 'x@example.org', subject: 'Once', text: 'It works.' });
  const send = (idempotencyKey: string | null, body: unknown = message(), key = team.key) =>
    scene.api('POST', '/emails', { key, body, headers: { 'idempotency-key': idempotencyKey } });
  const count = async () => (await scene.api('GET', '/emails?limit=100', { key: team.key })).body.data.length as number;

  it('returns the same answer, byte for byte, to a repeated request, and sends nothing twice', async () => {
    const key = randomUUID();
    const before = await count();
    const first = await send(key);
    for (let i = 0; i < 3; i++) {
      const again = await send(key);
      expect(again).toMatchObject({ status: 200, text: first.text });
      expect(again.headers.get('content-type')).toBe(first.headers.get('content-type'));
    }
    expect(await count()).toBe(before + 1);
    await scene.settled();
    expect(scene.sink.messages.filter(({ data }) => data.includes(first.body.id))).toHaveLength(1);
  });

  it('treats an attachment in base64, as a list of bytes and as a serialized Buffer as the same request', async () => {
    for (const size of [3, 200_000]) {
      const key = randomUUID();
      const file = Buffer.from(Array.from({ length: size }, (_, i) => (i * 7919) % 256));
      const attach = (content: unknown) =>
        send(key, { ...message(), attachments: [{ filename: 'a.bin', content_type: 'text/x', content }] });
      const { status, body } = await attach(file.toString('base64'));
      expect(status).toBe(200);
      expect((await attach([...file])).body).toEqual(body);
      expect((await attach(file.toJSON())).body).toEqual(body);
      const { body: list } = await scene.api('GET', `/emails/${body.id}/attachments`, { key: team.key });
      expect(list.data).toMatchObject([{ filename: 'a.bin', size }]);
      expect(await attach([...file.subarray(1)])).toMatchObject({ status: 409 });
    }
  });

  it('is required to avoid a second send on a retry', async () => {
    const one = await send(null);
    const other = await send(null);
    expect(one.body.id).not.toBe(other.body.id);
  });

  it('treats requests with another order of fields or other whitespace as the same', async () => {
    const key = randomUUID();
    const body = {
      ...message(),
      tags: [{ name: 'a', value: 'b' }],
      headers: { 'X-A': '1', 'X-B': '2' },
    };
    const first = await send(key, body);
    const { headers: _, tags: __, ...rest } = body;
    const reordered = { headers: { 'X-B': '2', 'X-A': '1' }, tags: [{ value: 'b', name: 'a' }], ...rest };
    expect((await send(key, JSON.stringify(reordered, null, 2))).text).toBe(first.text);
  });

  it.each([
    ['another text', { text: 'Another.' }],
    ['another recipient', { to: 'y@example.org' }],
    ['a list for one address', { to: ['x@example.org'] }],
    ['a field more', { tags: [] }],
    ['another order in a list', { cc: ['b@example.org', 'a@example.org'] }],
  ])(
    'returns 409 invalid_idempotent_request for the same key with %s, and the first answer stays',
    async (_, change) => {
      const key = randomUUID();
      const original = { ...message(), cc: ['a@example.org', 'b@example.org'] };
      const first = await send(key, original);
      expect(await send(key, { ...original, ...change })).toMatchObject({
        status: 409,
        body: { statusCode: 409, name: 'invalid_idempotent_request' },
      });
      expect((await send(key, original)).text).toBe(first.text);
    },
  );

  /** Blocks all commits that use a key until the returned function is called; reads still work. */
  async function holdCommits(): Promise<() => Promise<void>> {
    const { db } = scene.app.world;
    let release = (): void => undefined;
    const gate = new Promise<void>((open) => (release = open));
    let done: Promise<void> | undefined;
    await new Promise<void>((held) => {
      // SQLite has one writer, so any transaction blocks it.
      done = db.tx(async (tx) => {
        if (tx.dialect === 'pg') await tx.run('lock table idempotency_keys in exclusive mode');
        held();
        await gate;
      });
    });
    const letGo = async (): Promise<void> => {
      release();
      await done;
    };
    // A test that fails meanwhile must not leave the tests after it waiting.
    onTestFinished(letGo);
    return letGo;
  }

  it('returns 409 concurrent_idempotent_requests for every other request with the key while one is in progress', async () => {
    const key = randomUUID();
    const before = await count();
    const release = await holdCommits();
    const refused: Awaited<ReturnType<typeof send>>[] = [];
    const accepted: string[] = [];
    let whenRefused = (): void => undefined;
    const allRefused = new Promise<void>((done) => (whenRefused = done));
    const bodies = Array.from({ length: 10 }, (_, i) => (i < 8 ? message() : { ...message(), subject: `Other ${i}` }));
    const all = bodies.map(async (body) => {
      const answer = await send(key, body);
      if (answer.status === 200) accepted.push(answer.body.id);
      else if (refused.push(answer) === bodies.length - 1) whenRefused();
    });
    await allRefused;
    expect(accepted).toEqual([]);
    for (const { status, body, headers } of refused) {
      expect({ status, name: body.name }).toEqual({ status: 409, name: 'concurrent_idempotent_requests' });
      expect(headers.get('retry-after')).toBeNull();
    }
    // Another key is blocked by the database only.
    const unrelated = send(randomUUID());
    await release();
    await Promise.all(all);
    expect(accepted).toHaveLength(1);
    expect((await unrelated).status).toBe(200);
    expect(await count()).toBe(before + 2);
  });

  it('sends one of many requests at once; the others wait or get its answer', async () => {
    const key = randomUUID();
    const before = await count();
    const answers = await Promise.all(Array.from({ length: 25 }, () => send(key)));
    const ids = new Set(answers.filter(({ status }) => status === 200).map(({ body }) => body.id));
    expect(ids.size).toBe(1);
    for (const { status, body } of answers.filter((answer) => answer.status !== 200)) {
      expect({ status, name: body.name }).toEqual({ status: 409, name: 'concurrent_idempotent_requests' });
    }
    expect(await count()).toBe(before + 1);
    expect((await send(key)).body.id).toBe([...ids][0]);
  });

  it('sends one of many different requests at once with one key', async () => {
    const key = randomUUID();
    const before = await count();
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, i) => send(key, { ...message(), subject: `Number ${i}` })),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(await count()).toBe(before + 1);
  });

  it('keeps many keys at once independent', async () => {
    const keys = Array.from({ length: 20 }, () => randomUUID());
    const ids = (await Promise.all(keys.map((key) => send(key)))).map(({ body }) => body.id);
    expect(new Set(ids).size).toBe(20);
    expect((await Promise.all(keys.map((key) => send(key)))).map(({ body }) => body.id)).toEqual(ids);
  });

  it.each([1, 255, 256])('accepts a key of %i characters', async (length) => {
    const key = randomUUID().padEnd(length, 'k').slice(0, length);
    const first = await send(key);
    expect(first.status).toBe(200);
    expect((await send(key)).text).toBe(first.text);
  });

  it.each([0, 257, 5000])('returns 400 invalid_idempotency_key for a key of %i characters', async (length) => {
    expect(await send('k'.repeat(length))).toMatchObject({
      status: 400,
      body: { statusCode: 400, name: 'invalid_idempotency_key', message: expect.stringContaining(`got ${length}`) },
    });
  });

  it('distinguishes keys by letter case and by every character', async () => {
    const base = randomUUID();
    const keys = [`${base}a`, `${base}A`, `${base}a%`, `${base}a_`, `${base}ü`];
    const ids = [];
    for (const key of keys) ids.push((await send(key)).body.id);
    expect(new Set(ids).size).toBe(keys.length);
  });

  it('belongs to the team: its API keys share it, and other teams do not', async () => {
    const key = randomUUID();
    const first = await send(key);
    expect((await send(key, message(), await team.sendingKey())).text).toBe(first.text);
    const other = await scene.team();
    const own = { ...message(), from: `a@${(await other.domain()).name}` };
    const theirs = await send(key, own, other.key);
    expect(theirs.status).toBe(200);
    expect(theirs.body.id).not.toBe(first.body.id);
  });

  it('is not used up by a refused request', async () => {
    const key = randomUUID();
    const refusals = [
      { ...message(), to: 'bad' },
      { ...message(), surprise: 1 },
      { ...message(), from: 'a@nobody.example.com' },
      { ...message(), attachments: [{ filename: 'a', content: '!' }] },
      {},
    ];
    for (const body of refusals) expect((await send(key, body)).status).toBeGreaterThanOrEqual(400);
    expect((await send(key)).status).toBe(200);
  });

  it('keeps the answer across a restart', async () => {
    const key = randomUUID();
    const first = await send(key);
    await scene.restart();
    expect((await send(key)).text).toBe(first.text);
    expect(await send(key, { ...message(), subject: 'Other' })).toMatchObject({ status: 409 });
  });

  it('keeps the answer for exactly 24 hours, whether or not the sweep has run', async () => {
    const key = randomUUID();
    const swept = randomUUID();
    const first = await send(key);
    const other = await send(swept);
    scene.clock.advance(24 * HOUR_MS - 60_000);
    await forgetIdempotencyKeys(scene.app.world);
    expect((await send(key)).text).toBe(first.text);
    expect((await send(swept)).text).toBe(other.text);
    scene.clock.advance(59_999);
    expect((await send(key)).text).toBe(first.text);
    scene.clock.advance(1);
    const fresh = await send(key, { ...message(), subject: 'Another day' });
    expect(fresh.status).toBe(200);
    expect(fresh.body.id).not.toBe(first.body.id);
    await forgetIdempotencyKeys(scene.app.world);
    expect((await send(swept)).body.id).not.toBe(other.body.id);
    // The new answer is stored like the first one.
    expect((await send(key, { ...message(), subject: 'Another day' })).text).toBe(fresh.text);
  });

  it('repeats the answer of a scheduled send even after its time has passed', async () => {
    const key = randomUUID();
    const body = { ...message(), scheduled_at: new Date(scene.clock.now() + 2 * HOUR_MS).toISOString() };
    const first = await send(key, body);
    scene.clock.advance(3 * HOUR_MS);
    await scene.settled();
    expect((await send(key, body)).text).toBe(first.text);
    expect((await send(randomUUID(), body)).status).toBe(400);
    expect(scene.sink.messages.filter(({ data }) => data.includes(first.body.id))).toHaveLength(1);
  });

  it('repeats the answer even after the domain was removed', async () => {
    const gone = await team.domain();
    const key = randomUUID();
    const body = { ...message(), from: `a@${gone.name}` };
    const first = await send(key, body);
    await scene.api('DELETE', `/domains/${gone.id}`, { key: team.key });
    expect((await send(key, body)).text).toBe(first.text);
  });
});
