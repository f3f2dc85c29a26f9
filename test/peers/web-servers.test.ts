// a client --> nginx, Caddy and Apache, with the lines that `rasket setup` prints for them --> rasket
import { rmSync } from 'node:fs';
import http, { type IncomingHttpHeaders } from 'node:http';
import https from 'node:https';
import { text } from 'node:stream/consumers';
import { expect, it, onTestFinished, vi } from 'vitest';
import { startScene, type Scene, type SceneOptions, type Team } from '../rig/scene.ts';
import { scratchFolder } from '../rig/scratch.ts';
import { describePeers } from './peers.ts';
import { startApache, startCaddy, startNginx, type WebServer } from './web-servers.ts';

const HOST = 'mail.rasket.test';
/** Another address of this machine, so that the client is none of the trusted proxies. */
const CLIENT = '127.0.0.9';

interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

interface Call {
  method?: string;
  key?: string;
  body?: unknown;
  headers?: Record<string, string>;
  from?: string;
}

/** A client of the public port, which trusts what the web server shows for the name. */
const createClient =
  ({ https: port, ca }: WebServer) =>
  (path: string, call: Call = {}): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const request = https.request(parseOptions({ port, ca }, path, call), (answer) => {
        text(answer).then(
          (body) => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text: body }),
          reject,
        );
      });
      request.on('error', reject);
      request.end(call.body === undefined ? undefined : JSON.stringify(call.body));
    });

function parseOptions({ port, ca }: { port: number; ca: string }, path: string, call: Call): https.RequestOptions {
  const { method = call.body === undefined ? 'GET' : 'POST', key, headers, from = CLIENT } = call;
  return {
    host: '127.0.0.1',
    port,
    path,
    method,
    ca,
    servername: HOST,
    localAddress: from,
    agent: false,
    headers: {
      host: HOST,
      'user-agent': 'a-client/1',
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(call.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
  };
}

/** Requests in clear, as an authority does. */
const inClear = (port: number, path: string): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, path, headers: { host: HOST }, agent: false };
    http
      .get(options, (answer) => {
        text(answer).then(
          (body) => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text: body }),
          reject,
        );
      })
      .on('error', reject);
  });

async function sceneBehind(
  start: typeof startNginx,
  more: SceneOptions['config'] = {},
): Promise<{ scene: Scene; team: Team; web: WebServer }> {
  const scene = await startScene({
    config: {
      // `rasket setup` plans these settings for a machine whose web server has the ports.
      http: { trusted_proxies: ['127.0.0.1/32', '::1/128'] },
      acme: { directory: 'https://ca.test/dir', agree_to_terms: true, challenge: 'http-01' },
      ...more,
    },
  });
  onTestFinished(() => scene.close());
  const folder = scratchFolder('rasket-web-');
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const web = await start(folder, { host: HOST, apiPort: scene.app.http?.port ?? 0, asksAuthority: true });
  onTestFinished(() => web.stop());
  return { scene, team: await scene.team(), web };
}

for (const [name, program, start] of [
  ['nginx', 'nginx', startNginx],
  ['Caddy', 'caddy', startCaddy],
  ['Apache', 'apache2', startApache],
] as const)
  describePeers(`${name}, configured as rasket setup prints,`, [program], () => {
    it('passes on the first email, a large one, streams as they arrive, and the caller’s address', async () => {
      const { scene, team, web } = await sceneBehind(start);
      const call = createClient(web);
      const { name: domain } = await team.domain();
      const { key } = team;
      const email = { from: `a@${domain}`, to: ['x@one.example'], subject: 'Hi', text: 'First' };
      const sent = await call('/emails', { key, body: email });
      expect(sent, sent.text).toMatchObject({ status: 200 });
      expect(sent.headers).toHaveProperty('x-request-id');

      // A stream is open, and shows what happens now, before it has an end.
      const seen = await new Promise<string>((resolve, reject) => {
        const stream = https.get(
          parseOptions({ port: web.https, ca: web.ca }, '/webhooks/listen', { key }),
          (answer) => {
            let said = '';
            answer.setEncoding('utf8');
            answer.on('data', (chunk: string) => {
              said += chunk;
              if (!said.includes('email.sent')) return;
              stream.destroy();
              resolve(said);
            });
            expect(answer.statusCode).toBe(200);
            expect(answer.headers['content-type']).toContain('text/event-stream');
            call('/emails', { key, body: email }).catch(reject);
          },
        );
        stream.on('error', reject);
      });
      expect(seen).toMatch(/^event: /m);

      const content = Buffer.alloc(20_000_000, 7).toString('base64');
      const large = await call('/emails', { key, body: { ...email, attachments: [{ filename: 'a.bin', content }] } });
      expect(large.status, large.text.slice(0, 300)).toBe(200);
      await scene.settled();
      expect(scene.sink.messages.map(({ data }) => data.length > 20_000_000)).toContain(true);
      // A request that is too large is refused by rasket, with its own message, up to the limit of the web server.
      const huge = { ...email, html: 'x'.repeat(42_000_000) };
      const refused = await call('/emails', { key, body: huge });
      expect(JSON.parse(refused.text)).toMatchObject({
        statusCode: 413,
        message: expect.stringMatching(/at most 41943040 bytes/),
      });
    });

    it('names the client to the audit log and the limits, whatever the client claims', async () => {
      const limits = { rate_limit: { requests_per_second: 1, burst: 5 } };
      const { scene, team, web } = await sceneBehind(start, limits);
      const call = createClient(web);
      const headers = { 'x-forwarded-for': '203.0.113.7', 'x-forwarded-proto': 'http' };
      const made = await call('/api-keys', { key: team.key, body: { name: 'second' }, headers });
      expect(made.status, made.text).toBe(201);
      const { body } = await scene.api('GET', '/audit', { key: team.key });
      expect(body.data[0]).toMatchObject({ action: 'api_key.created', address: CLIENT });

      const without = (from: string) => call('/health', { from, headers });
      const statuses: number[] = [];
      for (let n = 0; n < 8; n++) statuses.push((await without(CLIENT)).status);
      expect(statuses).toContain(429);
      expect((await without('127.0.0.10')).status, 'another client has limits of its own').toBe(200);
    });

    it('passes on a path unchanged', async () => {
      const { team, web } = await sceneBehind(start);
      const answer = await createClient(web)('/contacts/a%2Fb%40one.example', { key: team.key });
      expect(answer.status).toBe(404);
      expect(JSON.parse(answer.text)).toMatchObject({ name: 'not_found', message: 'Contact not found.' });
    });

    it('passes on the requests of a certificate authority, and redirects all others to https', async () => {
      const { web } = await sceneBehind(start);
      const call = createClient(web);
      const challenge = '/.well-known/acme-challenge/a-token-that-nobody-waits-for-000000000000000';
      const asked = await inClear(web.http, challenge);
      // Caddy leads there by a redirect, which an authority follows (RFC 8555 §8.3).
      const answered = asked.status === 200 || asked.status === 404 ? asked : await call(challenge);
      expect(answered).toMatchObject({ status: 404, text: 'No certificate order waits for this challenge.\n' });
      const led = await inClear(web.http, '/emails?limit=1');
      expect([301, 308]).toContain(led.status);
      expect(led.headers.location).toMatch(new RegExp(`^https://${HOST}(:\\d+)?/emails\\?limit=1$`));
      if (program !== 'caddy')
        expect((await inClear(web.http, '/.well-known/acme-challenge/its-own')).text).toBe('of the web server itself');
    });
  });

vi.setConfig({ testTimeout: 180_000 });
