import http from 'node:http';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { startScene, type Scene, type Team } from '../rig/scene.ts';

let scene: Scene;
let team: Team;
let from: string;
beforeEach(async () => {
  scene = await startScene({ profile: 'development', config: { delivery: { capture: true } } });
  team = await scene.team();
  from = `Ada <ada@${(await team.domain()).name}>`;
});
afterEach(() => scene.close());

const send = async (body: Record<string, unknown>): Promise<string> => {
  const sent = await scene.api('POST', '/emails', { key: team.key, body: { from, to: 'b@example.org', ...body } });
  expect(sent.status, JSON.stringify(sent.body)).toBe(200);
  await scene.settled();
  return sent.body.id;
};

/** Requests a page as a browser does, which names a host of its own choice. */
function page(path: string, { host = new URL(scene.url).host, method = 'GET' } = {}) {
  return new Promise<{ status: number; html: string; headers: http.IncomingHttpHeaders }>((resolve, reject) => {
    const options = { method, headers: { host, 'user-agent': 'a browser' } };
    const request = http.request(`${scene.url}${path}`, options, (answer) => {
      let html = '';
      answer.setEncoding('utf8').on('data', (text: string) => (html += text));
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, html, headers: answer.headers }));
    });
    request.on('error', reject).end();
  });
}
const linksIn = (html: string): string[] =>
  [...html.matchAll(/href="(\/playground\/[^"]+)"/g)].map(([, path = '']) => path);

it('the attempts of captured mail say that it went nowhere', async () => {
  const id = await send({ subject: 'First', text: 'one' });
  const { body } = await scene.api('GET', `/emails/${id}/attempts`, { key: team.key });
  expect(body.data).toMatchObject([
    {
      mx: 'playground',
      recipients: [{ outcome: 'delivered', explanation: expect.stringMatching(/did not leave this server/) as string }],
    },
  ]);
});

it('the playground is where the bare address leads', async () => {
  expect(await page('/')).toMatchObject({ status: 303, headers: { location: '/playground' } });
});

it('the playground lists captured mail, newest first, with mail to the simulator, each with its state', async () => {
  expect((await page('/playground')).html).toContain('No emails captured yet');
  await send({ subject: 'First', text: 'one' });
  await send({
    subject: '<b>Second</b>',
    text: 'two',
    to: `bounced@simulator.${scene.app.world.config.instance.host}`,
  });
  const { status, html } = await page('/playground');
  expect(status).toBe(200);
  expect(html.indexOf('&lt;b&gt;Second&lt;/b&gt;')).toBeGreaterThan(0);
  expect(html.indexOf('First')).toBeGreaterThan(html.indexOf('Second'));
  expect(html).toMatch(/bounced@simulator[^]*Bounced[^]*b@example\.org[^]*Delivered/);
  expect(linksIn(html)).toHaveLength(2);
});

it('the playground shows a message with its headers, its text and the result of its authentication', async () => {
  const id = await send({
    subject: 'Hello',
    html: '<p>Dear <b>you</b></p><script>alert(1)</script>',
    headers: { 'X-Mine': '1' },
  });
  const [link = ''] = linksIn((await page('/playground')).html);
  const { html, headers } = await page(link);
  expect(html).toContain(id);
  expect(html).toContain('X-Mine: 1');
  expect(html).toContain('<pre dir="auto">Dear you\n</pre>');
  expect(html).toContain('sandbox=""');
  expect(html).not.toContain('<script');
  expect(headers['content-security-policy']).toContain("default-src 'none'");
  expect(html).toMatch(/<dt>SPF<\/dt><dd>✓ pass/);
  expect(html.match(/<dt>DKIM<\/dt><dd>✓ pass/g)?.length).toBeGreaterThan(0);
  expect(html).not.toMatch(/<dt>DKIM<\/dt><dd>✗/);
  expect(html).toMatch(/<dt>DMARC<\/dt><dd>✓ pass/);
});

it('the playground checks mail of a host without a domain like that of a host with one', async () => {
  await using local = await startScene({
    profile: 'development',
    config: { delivery: { capture: true }, instance: { host: 'localhost', env: 'development' } },
  });
  const own = await local.team();
  const sender = `ada@${(await own.domain()).name}`;
  const body = { from: sender, to: 'b@example.org', subject: 'Hello', text: 'x' };
  expect((await local.api('POST', '/emails', { key: own.key, body })).status).toBe(200);
  await local.settled();
  const row = await local.app.world.db.get<{ id: string }>('select id from playground_messages');
  const answer = await fetch(`${local.url}/playground/${row?.id}`, { headers: { 'user-agent': 'a browser' } });
  expect(await answer.text()).toMatch(/<dt>SPF<\/dt><dd>✓ pass/);
});

it('the playground shows a message once when it is delivered again after a crash', async () => {
  const { world, queue } = scene.app;
  const caught = () => world.db.all('select id from playground_messages order by id');
  const before = await caught();
  const { id } = (
    await scene.api('POST', '/emails', {
      key: team.key,
      body: {
        from,
        to: ['b@one.example', 'c@one.example', 'd@two.example'],
        subject: 'Once',
        text: 'x',
        scheduled_at: new Date(scene.clock.now() + 3_600_000).toISOString(),
      },
    })
  ).body;
  const rows = await world.db.all<Record<string, string>>('select * from deliveries where email_id = ?', [id]);
  scene.clock.advance(3_600_000);
  await scene.settled();
  const once = await caught();
  expect(once).toHaveLength(before.length + 2);
  // This is the state after a kill between the capture and the commit that ends the delivery.
  await world.db.insertMany(
    'deliveries',
    Object.keys(rows[0] ?? {}),
    rows.map((row) => Object.values(row)),
  );
  queue?.wake();
  await scene.settled();
  expect(await world.db.all('select id from deliveries where email_id = ?', [id])).toEqual([]);
  expect(await caught()).toEqual(once);
});

it('the playground reports the invalid signature of a changed message', async () => {
  await send({ subject: 'Hello', text: 'as it was signed' });
  const { db, blobs } = scene.app.world;
  const row = await db.get<{ id: string }>('select id from playground_messages order by id desc limit 1');
  const name = `${row?.id}/message.eml`;
  const text = (await blobs.get(name)).toString().replace('as it was signed', 'as it was forged');
  await blobs.put(name, Buffer.from(text));
  const { html } = await page(`/playground/${row?.id}`);
  expect(html).toMatch(/<dt>DKIM<\/dt><dd>✗ (fail|neutral)/);
  expect(html).not.toMatch(/<dt>DKIM<\/dt><dd>✓/);
});

it('the playground has pages, and reports missing messages', async () => {
  for (let at = 0; at < 51; at++)
    await scene.api('POST', '/emails', {
      key: team.key,
      body: { from, to: 'b@example.org', subject: `No ${at}`, text: 'x' },
    });
  await scene.settled();
  const first = await page('/playground');
  expect(linksIn(first.html)).toHaveLength(50);
  const older = /href="(\/playground\?before=[^"]+)"/.exec(first.html)?.[1] ?? '';
  const second = await page(older);
  expect(linksIn(second.html)).toHaveLength(1);
  expect(linksIn(first.html)).not.toContain(linksIn(second.html)[0]);
  expect(second.html).not.toContain('Older');
  const missing = await page('/playground/019a9c1e-0000-7000-8000-000000000000');
  expect(missing).toMatchObject({ status: 404, html: expect.stringContaining('Message not found') });
  expect(await page('/playground', { method: 'HEAD' })).toMatchObject({ status: 200, html: '' });
});

it('the playground responds only to names of this machine, because a foreign page may use another', async () => {
  for (const path of ['/playground', '/playground/019a9c1e-0000-7000-8000-000000000000'])
    for (const host of ['evil.example', 'localhost.evil.example', '127.0.0.1.evil.example:80'])
      expect((await page(path, { host })).html).toMatch(/"statusCode":40[04]/);
  expect((await page('/playground', { host: `localhost:${new URL(scene.url).port}` })).status).toBe(200);
});

it('the playground does not exist when mail is sent', async () => {
  await using other = await startScene();
  const answer = await other.api('GET', '/playground', {});
  expect(answer).toMatchObject({ status: 404, body: { name: 'not_found' } });
});
