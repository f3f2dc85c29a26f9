import { existsSync } from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { removeOrphanBlobs, sweepBlobs } from '../../../src/features/installation/upkeep/remove-orphan-blobs.ts';
import { findBroadcast } from '../../../src/features/campaigns/broadcasts/broadcasts.store.ts';
import { noteBroadcastImages } from '../../../src/features/templates/images/images.ts';
import { administerTeam } from '../../../src/tenancy/teams/index.ts';
import { driver } from '../../rig/database.ts';
import { buildGif, buildJpeg, buildPng, webps } from '../../rig/pictures.ts';
import type { ApiAnswer } from '../../rig/api.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';
import { openDesk, said } from '../broadcasts/drafting.ts';

const MAX = 100_000;
const ROW_BYTES = 2000;
let scene: Scene;
let team: Team;
beforeAll(async () => {
  scene = await startScene({
    roles: ['http', 'delivery'],
    config: { images: { max_bytes: MAX, max_bytes_per_team: 1_000_000 }, storage: { row_bytes: ROW_BYTES } },
  });
  team = await scene.team();
});
afterAll(() => scene.close());

const upload = (body: Uint8Array | string, { key = team.key, type = 'image/png' as string | null } = {}) =>
  scene.api('POST', '/images', { key, body, headers: { 'content-type': type } });
const look = (answer: ApiAnswer, init: RequestInit = {}) => fetch(answer.body.url as string, init);
/** Returns the status of a path as written, which fetch would normalize. */
const fetchStatus = (target: string, host: string, method = 'GET'): Promise<number> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(scene.url);
    const asked = http.request({ hostname, port, path: target, method, headers: { host, 'user-agent': 'reader' } });
    asked.on('error', reject).on('response', (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    });
    asked.end();
  });
const inRows = async (id: string) =>
  Number(
    (await scene.app.world.db.get<{ n: number }>('select count(*) as n from contents where owner_id = ?', [id]))?.n,
  );
const hasFile = (id: string) => existsSync(path.join(scene.dataDir, 'blobs', id.slice(-2), id));

describe('POST /images', () => {
  it.each([
    { what: 'a PNG', bytes: buildPng(600, 200), type: 'image/png', ending: 'png' },
    { what: 'a JPEG', bytes: buildJpeg(600, 200), type: 'image/jpeg', ending: 'jpg' },
    { what: 'a GIF', bytes: buildGif(600, 200), type: 'image/gif', ending: 'gif' },
    { what: 'a lossy WebP', bytes: webps(600, 200).lossy, type: 'image/webp', ending: 'webp' },
    { what: 'a lossless WebP', bytes: webps(600, 200).lossless, type: 'image/webp', ending: 'webp' },
    { what: 'an extended WebP', bytes: webps(600, 200).extended, type: 'image/webp', ending: 'webp' },
  ])('stores $what and serves it byte for byte', async ({ bytes, type, ending }) => {
    const made = await upload(bytes);
    expect([made.status, made.body]).toEqual([
      201,
      {
        object: 'image',
        id: made.body.id,
        url: expect.stringMatching(new RegExp(`^${scene.url}/i/[A-Za-z0-9_-]{32}\\.${ending}$`)),
        content_type: type,
        bytes: bytes.length,
        width: 600,
        height: 200,
        created_at: new Date(scene.clock.now()).toISOString(),
      },
    ]);
    const served = await look(made);
    expect([served.status, served.headers.get('content-type')]).toEqual([200, type]);
    expect(Buffer.from(await served.arrayBuffer()).equals(bytes)).toBe(true);
    expect((await scene.api('GET', `/images/${made.body.id}`, { key: team.key })).body).toEqual(made.body);
  });

  it('detects the type from the bytes, whatever the caller claims', async () => {
    for (const type of ['text/html', 'application/octet-stream', 'application/json', 'image/svg+xml', null]) {
      const made = await upload(buildGif(3, 4, `${type}`), { type });
      expect([made.status, made.body.content_type]).toEqual([201, 'image/gif']);
    }
  });

  const png = buildPng(600, 200);
  it.each([
    { what: 'nothing', body: '', says: /not a PNG, JPEG, GIF or WebP/ },
    {
      what: 'an SVG',
      body: '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
      says: /not a PNG/,
    },
    { what: 'HTML', body: '<!doctype html><script>alert(1)</script>', says: /not a PNG/ },
    { what: 'HTML before a picture', body: Buffer.concat([Buffer.from('<html>'), png]), says: /not a PNG/ },
    { what: 'a form', body: Buffer.concat([Buffer.from('--b\r\n\r\n'), png]), says: /not as a form or JSON/ },
    { what: 'JSON', body: { content: png.toString('base64') }, says: /not as a form or JSON/ },
    { what: 'a bitmap', body: Buffer.from('BM\x3a\0\0\0', 'latin1'), says: /not a PNG/ },
    { what: 'a RIFF that is sound', body: Buffer.from(`RIFF\x24\0\0\0WAVEfmt ${' '.repeat(30)}`), says: /not a PNG/ },
    { what: 'a PNG that ends in its head', body: png.subarray(0, 20), says: /begins as image\/png/ },
    {
      what: 'a PNG with another first chunk',
      body: Buffer.from(png).fill('tEXt', 12, 16),
      says: /begins as image\/png/,
    },
    { what: 'a JPEG without a frame', body: Buffer.from('\xff\xd8\xff\xd9', 'latin1'), says: /begins as image\/jpeg/ },
    {
      what: 'a JPEG whose segment has no length',
      body: Buffer.from('\xff\xd8\xff\xe0\0\0\0\0', 'latin1'),
      says: /jpeg/,
    },
    { what: 'a GIF of 6 bytes', body: 'GIF89a', says: /begins as image\/gif/ },
    { what: 'a GIF of no width', body: buildGif(0, 10), says: /begins as image\/gif/ },
    { what: 'a WebP of 12 bytes', body: Buffer.from('RIFF\x04\0\0\0WEBP', 'latin1'), says: /begins as image\/webp/ },
    {
      what: 'a PNG drawn by 2^31 pixels a side',
      body: buildPng(2 ** 31 - 1, 2 ** 31 - 1),
      says: /at most 10000 on each side/,
    },
    { what: 'a GIF of 65,535 a side', body: buildGif(65_535, 65_535), says: /65535 × 65535 pixels/ },
    { what: 'a picture of 50 million pixels and a line', body: buildPng(10_000, 5001), says: /50000000 in total/ },
  ])('refuses $what', async ({ body, says }) => {
    const bytes = typeof body === 'object' && !Buffer.isBuffer(body) ? JSON.stringify(body) : body;
    const refused = await upload(bytes);
    expect([...said(refused), refused.body.message]).toEqual([422, 'validation_error', expect.stringMatching(says)]);
  });

  it('accepts the size limit, and not one byte more', async () => {
    const bare = buildPng(1, 1, { salt: 'limit' }).length;
    expect((await upload(buildPng(1, 1, { salt: 'limit', padding: MAX - bare }))).status).toBe(201);
    const refused = await upload(buildPng(1, 1, { salt: 'limit', padding: MAX - bare + 1 }));
    expect([...said(refused), refused.body.message]).toEqual([
      413,
      'validation_error',
      `The request body may have at most ${MAX} bytes (images.max_bytes of this server).`,
    ]);
  });

  it('stores equal bytes of a team once, even when they arrive at once', async () => {
    const first = await upload(buildPng(5, 5, { salt: 'same' }));
    const again = await upload(buildPng(5, 5, { salt: 'same' }));
    expect([again.status, again.body]).toEqual([201, first.body]);
    const large = buildPng(6, 6, { salt: 'at once', padding: ROW_BYTES });
    const all = await Promise.all(Array.from({ length: 8 }, () => upload(large)));
    const ids = new Set(all.map(({ body }) => body.id as string));
    expect([all.map(({ status }) => status), ids.size]).toEqual([Array(8).fill(201), 1]);
    for (const id of ids) expect([await inRows(id), hasFile(id)]).toEqual([0, true]);
    const other = await upload(buildPng(5, 5, { salt: 'same' }), { key: (await scene.team()).key });
    expect(other.body.id).not.toBe(first.body.id);
    expect(other.body.url).not.toBe(first.body.url);
  });

  it('writes one audit entry, and none if nothing is stored', async () => {
    const owner = await scene.team();
    const made = await upload(buildPng(1, 2), { key: owner.key });
    await upload(buildPng(1, 2), { key: owner.key });
    await upload('GIF89a', { key: owner.key });
    const { data } = (await scene.api('GET', '/audit', { key: owner.key })).body;
    expect(data).toMatchObject([{ action: 'image.created', subject_id: made.body.id, details: null }]);
  });

  it('requires a key with full access, and no log has the bytes', async () => {
    expect((await upload(buildPng(1, 3), { key: await team.sendingKey() })).status).toBe(401);
    const made = await upload(buildPng(1, 3));
    const { body } = await scene.api('GET', `/logs/${made.headers.get('x-request-id')}`, { key: team.key });
    expect(body.request_body).toEqual({ unreadable: true, bytes: made.body.bytes });
  });

  it('stores small images in rows and large ones in files', async () => {
    const small = await upload(buildPng(7, 7, { salt: 'small' }));
    expect([await inRows(small.body.id), hasFile(small.body.id)]).toEqual([1, false]);
    const large = await upload(buildPng(7, 7, { salt: 'large', padding: ROW_BYTES }));
    expect([await inRows(large.body.id), hasFile(large.body.id)]).toEqual([0, true]);
  });

  it('stops at the storage limit of a team, and leaves nothing of the image beyond it', async () => {
    const owner = await scene.team();
    const big = (salt: string) => upload(buildPng(9, 9, { salt, padding: MAX - 400 }), { key: owner.key });
    const made: ApiAnswer[] = [];
    for (let n = 0; n < 10; n++) made.push(await big(`n${n}`));
    expect(made.map(({ status }) => status)).toEqual(Array(10).fill(201));
    const refused = await big('one more');
    expect([...said(refused), refused.body.message]).toEqual([
      422,
      'validation_error',
      expect.stringMatching(/1000000 bytes in total \(images\.max_bytes_per_team/),
    ]);
    // An existing image needs no more space.
    expect((await big('n0')).body.id).toBe(made[0]?.body.id);
    await scene.api('DELETE', `/images/${made[0]?.body.id}`, { key: owner.key });
    expect((await big('one more')).status).toBe(201);
    expect((await scene.api('GET', '/images', { key: owner.key })).body.data).toHaveLength(10);
  });

  it('keeps files in use when orphans are swept, and removes those without a row', async () => {
    const kept = await upload(buildPng(8, 8, { salt: 'swept', padding: ROW_BYTES }));
    const orphan = scene.app.world.ids.uuid();
    await scene.app.world.blobs.put(`${orphan}/image`, Buffer.from('x'));
    scene.clock.advance(3 * 86_400_000);
    expect(await sweepBlobs(scene.app.world, { remove: false })).toMatchObject({ orphans: 1 });
    await removeOrphanBlobs(scene.app.world);
    expect([hasFile(kept.body.id), hasFile(orphan), (await look(kept)).status]).toEqual([true, false, 200]);
  });
});

describe('GET /images and GET /images/{id}', () => {
  it('list the images of the team, newest first, without those of another team', async () => {
    const owner = await scene.team();
    const made: string[] = [];
    for (const salt of ['a', 'b', 'c'])
      made.unshift((await upload(buildPng(2, 2, { salt }), { key: owner.key })).body.id);
    const { body } = await scene.api('GET', '/images?limit=2', { key: owner.key });
    expect([body.has_more, body.data.map(({ id }: { id: string }) => id)]).toEqual([true, made.slice(0, 2)]);
    const rest = await scene.api('GET', `/images?after=${made[1]}`, { key: owner.key });
    expect(rest.body.data.map(({ id }: { id: string }) => id)).toEqual(made.slice(2));
    expect(said(await scene.api('GET', `/images/${made[0]}`, { key: team.key }))).toEqual([404, 'not_found']);
    expect(said(await scene.api('DELETE', `/images/${made[0]}`, { key: team.key }))).toEqual([404, 'not_found']);
  });
});

describe('DELETE /images/{id}', () => {
  it.each([
    { what: 'in a row', padding: 0 },
    { what: 'in a file', padding: ROW_BYTES },
  ])('stops serving an image $what, and the same bytes get another address', async ({ what, padding }) => {
    const picture = buildPng(4, 4, { salt: what, padding });
    const made = await upload(picture);
    const deleted = await scene.api('DELETE', `/images/${made.body.id}`, { key: team.key });
    expect([deleted.status, deleted.body]).toEqual([200, { object: 'image', id: made.body.id, deleted: true }]);
    const gone = await look(made);
    expect([gone.status, gone.headers.get('cache-control')]).toEqual([404, 'no-store']);
    expect([await inRows(made.body.id), hasFile(made.body.id)]).toEqual([0, false]);
    expect((await scene.api('DELETE', `/images/${made.body.id}`, { key: team.key })).status).toBe(404);
    expect((await upload(picture)).body.url).not.toBe(made.body.url);
  });

  it('is refused while a sent or pending broadcast shows the image, and names it', async () => {
    const desk = await openDesk(scene);
    const mine = { key: desk.team.key };
    const made = await upload(buildPng(4, 4, { salt: 'shown', padding: ROW_BYTES }), mine);
    const html = `<p>Look at this, dear reader</p><img alt="New" src="${made.body.url}">`;
    const remove = (more = '') => scene.api('DELETE', `/images/${made.body.id}${more}`, mine);
    const draft = await desk.make({ html, name: 'A draft' });
    const sent = await desk.make({ html: null, text: `See ${made.body.url}`, name: 'By text' });
    const canceled = await desk.make({ html, name: 'Canceled' });
    for (const id of [sent, canceled])
      await desk.call('POST', `/broadcasts/${id}/send`, { scheduled_at: 'in 2 hours' });
    await desk.call('POST', `/broadcasts/${canceled}/cancel`);
    const refused = await remove();
    expect([...said(refused), refused.body.message]).toEqual([
      409,
      'resource_locked',
      expect.stringMatching(/show this image: "By text"\. Without it/),
    ]);
    expect((await look(made)).status).toBe(200);
    expect(said(await remove('?force=perhaps'))).toEqual([422, 'invalid_parameter']);
    expect((await remove('?force=false')).status).toBe(409);
    expect((await remove('?force=true')).status).toBe(200);
    expect((await look(made)).status).toBe(404);
    // A draft does not block it, and its checks report that.
    const { checks } = (await desk.call('GET', `/broadcasts/${draft}/checklist`)).body;
    expect(checks.find(({ name }: { name: string }) => name === 'image_weight')).toEqual({
      name: 'image_weight',
      status: 'fail',
      message: 'A picture was deleted from this service, or its address is truncated; readers see a gap.',
      details: [made.body.url],
    });
    expect(said(await desk.call('POST', `/broadcasts/${draft}/send`))).toEqual([422, 'validation_error']);
    const styled = await desk.make({ html: `<p style="background: url('${made.body.url}')">Hello, dear reader</p>` });
    expect((await desk.call('GET', `/broadcasts/${styled}/checklist`)).body.checks).toContainEqual(
      expect.objectContaining({ name: 'image_weight', status: 'fail', details: [made.body.url] }),
    );
  });

  it('and a send at once never miss each other', async () => {
    const desk = await openDesk(scene);
    const seen = new Set<string>();
    for (let round = 0; round < 20; round++) {
      const { body } = await upload(buildPng(4, 4, { salt: `round ${round}` }), { key: desk.team.key });
      const id = await desk.make({ html: `<p>Hello, dear reader</p><img alt="" src="${body.url}">` });
      const calls = [
        () => desk.call('POST', `/broadcasts/${id}/send`, { scheduled_at: 'in 2 hours' }),
        () => desk.call('DELETE', `/images/${body.id}`),
      ];
      const answers = await Promise.all((round % 2 ? calls.reverse() : calls).map((call) => call()));
      const [sent, deleted] = round % 2 ? answers.reverse() : answers;
      seen.add(`${sent?.status} ${deleted?.status}`);
    }
    for (const outcome of seen) expect(['200 409', '422 200']).toContain(outcome);
  });

  // runs only with PostgreSQL, where others write while a transaction is open
  it.runIf(driver === 'pg')('waits for a send that has found the image, and is then refused', async () => {
    const desk = await openDesk(scene);
    const { db } = scene.app.world;
    const { body } = await upload(buildPng(4, 4, { salt: 'held' }), { key: desk.team.key });
    const id = await desk.make({ html: `<p>Hello, dear reader</p><img alt="" src="${body.url}">`, name: 'Under way' });
    const row = await findBroadcast(db, desk.team.id, id);
    if (!row) throw new Error('the draft is gone');
    let deleting: Promise<ApiAnswer> | undefined;
    await db.tx(async (tx) => {
      await noteBroadcastImages(tx, row, row);
      deleting = desk.call('DELETE', `/images/${body.id}`);
      // This is time enough for a call that would not wait.
      for (let n = 0; n < 50; n++) await desk.call('GET', '/images');
      await tx.run("update broadcasts set status = 'sent' where id = ?", [id]);
    });
    expect(said((await deleting) as ApiAnswer)).toEqual([409, 'resource_locked']);
  });

  it('counts the bytes of displayed images that the server hosts, each once', async () => {
    const desk = await openDesk(scene);
    const urls: string[] = [];
    for (let n = 0; n < 11; n++) {
      const picture = buildPng(9, 9, { salt: `weighs ${n}`, padding: MAX - 400 });
      const { body, status } = await upload(picture, { key: n < 6 ? desk.team.key : team.key });
      if (status === 201) urls.push(body.url);
    }
    const weight = async (sources: string[]) => {
      const html = sources.map((source) => `<img alt="" src="${source}">`).join('');
      const id = await desk.make({ html });
      const { checks } = (await desk.call('GET', `/broadcasts/${id}/checklist`)).body;
      return checks.find(({ name }: { name: string }) => name === 'image_weight');
    };
    const inBody = `data:image/png;base64,${'A'.repeat(800_000)}`;
    expect(await weight(urls.slice(0, 6))).toMatchObject({ status: 'pass' });
    expect(await weight([...urls.slice(0, 5), inBody])).toMatchObject({ status: 'warn' });
    expect(await weight([...Array<string>(9).fill(urls[0] ?? ''), inBody])).toMatchObject({ status: 'pass' });
  });
});

describe('the address of an image', () => {
  it('may be cached for a year, executes nothing, and answers revalidation', async () => {
    const made = await upload(buildGif(10, 10, '<script>alert(1)</script>'));
    const served = await look(made, { headers: { cookie: 'session=1' } });
    const shown = Object.fromEntries(served.headers);
    expect(shown).toMatchObject({
      'cache-control': 'public, max-age=31536000, immutable',
      'content-type': 'image/gif',
      'content-length': String(made.body.bytes),
      'content-security-policy': "sandbox; default-src 'none'",
      'cross-origin-resource-policy': 'cross-origin',
      'x-content-type-options': 'nosniff',
      etag: expect.stringMatching(/^"[0-9a-f]{32}"$/),
    });
    expect(shown).not.toHaveProperty('set-cookie');
    const etag = shown['etag'] ?? '';
    for (const asked of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const same = await look(made, { headers: { 'if-none-match': asked } });
      expect([same.status, same.headers.get('etag'), await same.text()]).toEqual([304, etag, '']);
      expect(same.headers.get('cache-control')).toMatch(/immutable/);
    }
    expect((await look(made, { headers: { 'if-none-match': '"other"' } })).status).toBe(200);
    const head = await look(made, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([
      200,
      String(made.body.bytes),
      '',
    ]);
    expect((await fetch(`${made.body.url}?utm_source=news`)).status).toBe(200);
  });

  it('returns 404 with any change to the token, extension or path', async () => {
    const made = await upload(buildPng(3, 3, { salt: 'address' }));
    const { pathname } = new URL(made.body.url as string);
    const token = pathname.slice(3, 35);
    const flipped = (token.startsWith('A') ? 'B' : 'A') + token.slice(1);
    for (const other of [
      '/i/',
      '/i/x',
      `/i/${token}`,
      `/i/${token}.svg`,
      `/i/${token}.png/`,
      `/i/${token}.png/x`,
      `/i/${token}x.png`,
      `/i/${token.slice(1)}.png`,
      `/i/${flipped}.png`,
      `/i/../i/${token}`,
      '/i/..%2f..%2finstance.key.png',
      `/i//${token}.png`,
      `/i/${token}.png%00`,
      `/i/%2e%2e/${token}.png`,
      `/i/${made.body.id}.png`,
    ]) {
      expect(await fetchStatus(other, '127.0.0.1'), other).toBe(404);
    }
    expect(await fetchStatus(pathname, '127.0.0.1', 'POST')).toBe(404);
    expect(await fetchStatus(pathname, '127.0.0.1')).toBe(200);
  });

  it('works on our hosts and those of its team, but not on a tracking host of another team', async () => {
    const owner = await openDesk(scene);
    const other = await openDesk(scene);
    const made = await upload(buildPng(3, 3, { salt: 'host' }), { key: owner.team.key });
    const { pathname } = new URL(made.body.url as string);
    const on = (host: string): Promise<number> => fetchStatus(pathname, host, 'HEAD');
    const label = async ({ domain, call }: typeof owner): Promise<string> =>
      `${(await call('GET', `/domains/${domain.id}`)).body.tracking_subdomain}.${domain.name}`;
    const own = await label(owner);
    const foreign = await label(other);
    const seen = [];
    for (const host of ['127.0.0.1', own, `${own}:443`, foreign, foreign.toUpperCase(), other.domain.name])
      seen.push(await on(host));
    expect(seen).toEqual([200, 200, 200, 404, 404, 200]);
    await administerTeam(scene.app.world, owner.team.id, { riskState: 'suspended' });
    expect(await on(own)).toBe(404);
  });
});
