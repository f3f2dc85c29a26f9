import http from 'node:http';
import { writeFileSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { setSending } from '../../src/tenancy/instance/index.ts';
import { freePort } from '../rig/free-port.ts';
import { bringMail, callMx, createReceivingDomain } from '../rig/mx.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { mailIn } from './mail.ts';

interface Answer {
  status: number;
  text: string;
  headers: http.IncomingHttpHeaders;
}

function get(url: string, options: http.RequestOptions = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = http.request(url, options, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text, headers: response.headers }));
    });
    request.on('error', reject).end();
  });
}

const readings = (text: string): Map<string, number> =>
  new Map(
    text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  );

/** Each look is a new one: looks within a second share what was read. */
async function look(scene: Scene): Promise<Map<string, number>> {
  scene.clock.advance(1001);
  const { status, text } = await get(`${scene.url}/metrics`);
  if (status !== 200) throw new Error(`${status} ${text}`);
  return readings(text);
}

async function lookUntil(scene: Scene, isSo: (values: Map<string, number>) => boolean): Promise<void> {
  while (!isSo(await look(scene)));
}

describe('the metrics', () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await startScene({
      roles: ['http', 'delivery', 'receiving', 'submission'],
      config: { metrics: { domains: 1 } },
      sink: { script: (command) => (command.startsWith('RCPT TO:<no@') ? '550 5.1.1 No such user' : undefined) },
    });
  });
  afterAll(() => scene.close());

  it('count emails, recipients by outcome and domain, and API responses, and contain no address', async () => {
    const mail = await mailIn(scene);
    for (let n = 0; n < 3; n++) {
      await mail.send(Array.from({ length: 20 }, (_, i) => `r${n}-${i}@example.org`));
      await scene.settled();
    }
    await mail.send(['no@example.net', 'yes@example.net']);
    await scene.settled();
    const refused = await scene.api('POST', '/emails', { key: mail.team.key, body: {} });
    // An answer is counted once its last byte has left, which its caller may see first.
    await lookUntil(scene, (now) => now.get('rasket_http_request_seconds_count{operation="sendEmail"}') === 5);
    const values = await look(scene);
    const { text } = await get(`${scene.url}/metrics`);
    expect(values.get('rasket_emails_accepted_total')).toBe(4);
    expect(values.get('rasket_recipients_accepted_total')).toBe(62);
    // A domain has a label once fifty recipients were met there; what came before, and every domain beyond the slots, is other.
    expect(values.get('rasket_deliveries_total{outcome="delivered",domain="example.org"}')).toBe(20);
    expect(values.get('rasket_deliveries_total{outcome="delivered",domain="other"}')).toBe(41);
    expect(values.get('rasket_deliveries_total{outcome="bounced",domain="other"}')).toBe(1);
    expect(values.get('rasket_http_requests_total{operation="sendEmail",status="200"}')).toBe(4);
    expect(values.get(`rasket_http_requests_total{operation="sendEmail",status="${refused.status}"}`)).toBe(1);
    expect(text).not.toMatch(/@|example\.net/);
    expect(text).toMatch(/^process_resident_memory_bytes \d+/m);
    expect(text).toMatch(/^nodejs_eventloop_lag_p99_seconds /m);
  });

  it('count received mail by its reply, and the open connections', async () => {
    const team = await scene.team();
    const { name } = await createReceivingDomain(scene, team);
    const raw = `From: a@example.org\r\nTo: in@${name}\r\nSubject: Hi\r\n\r\nHello\r\n`;
    expect(await bringMail(scene, { to: [`in@${name}`], raw })).toMatch(/^250/);
    const client = await callMx(scene);
    await client.hear();
    await lookUntil(scene, (values) => values.get('rasket_smtp_connections{kind="world"}') === 1);
    expect((await look(scene)).get('rasket_received_total{result="accepted"}')).toBe(1);
    client.end();
    await lookUntil(scene, (values) => values.get('rasket_smtp_connections{kind="world"}') === 0);
  });

  it('contain each finding as long as it lasts', async () => {
    const finding = 'rasket_findings{code="sending_off",severity="error"}';
    expect([(await look(scene)).get('rasket_sending_on'), (await look(scene)).get(finding)]).toEqual([1, undefined]);
    await setSending(scene.app.world, { isOn: false, reason: undefined });
    expect([(await look(scene)).get('rasket_sending_on'), (await look(scene)).get(finding)]).toEqual([0, 1]);
    await setSending(scene.app.world, { isOn: true, reason: undefined });
    expect([(await look(scene)).get('rasket_sending_on'), (await look(scene)).get(finding)]).toEqual([1, undefined]);
  });
});

describe('the access to /metrics', () => {
  it('is open to this machine without a token, and not through a proxy or by another name', async () => {
    await using scene = await startScene({ roles: ['http'] });
    const url = `${scene.url}/metrics`;
    expect((await get(url)).status).toBe(200);
    expect((await get(`${url}?a=b`)).status).toBe(200);
    for (const headers of [
      { 'x-forwarded-for': '127.0.0.1' },
      { forwarded: 'for=127.0.0.1' },
      { 'x-real-ip': '127.0.0.1' },
      { via: '1.1 proxy' },
      { host: 'mail.example.com' },
      { host: '127.0.0.1.example.com' },
    ])
      expect(await get(url, { headers })).toMatchObject({ status: 403, text: expect.stringContaining('token_file') });
    const raw = await dial(scene.url, 'GET /metrics HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n');
    expect(raw).toMatch(/^HTTP\/1\.1 403 /);
    expect(await get(url, { method: 'POST' })).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD' } });
    expect(await get(url, { method: 'HEAD' })).toMatchObject({ status: 200, text: '' });
  });

  it('requires the token from everywhere when there is one, and a missing or short token file allows nobody', async () => {
    await using scene = await startScene({ roles: ['http'], config: { metrics: { token_file: 'metrics-token' } } });
    const url = `${scene.url}/metrics`;
    const token = 'a-token-of-twenty-and-more';
    const ask = (authorization?: string): Promise<Answer> =>
      get(url, { headers: { 'x-forwarded-for': '203.0.113.7', ...(authorization && { authorization }) } });
    expect(await ask(`Bearer ${token}`)).toMatchObject({ status: 503, text: expect.stringContaining('token_file') });
    writeFileSync(path.join(scene.dataDir, 'metrics-token'), 'short\n');
    expect(await ask('Bearer short')).toMatchObject({ status: 503, text: expect.stringContaining('16') });
    writeFileSync(path.join(scene.dataDir, 'metrics-token'), `${token}\n`);
    for (const wrong of [undefined, 'Bearer', `Bearer ${token}x`, `Bearer ${token.slice(1)}`, `Basic ${token}`])
      expect(await ask(wrong)).toMatchObject({ status: 401, headers: { 'www-authenticate': 'Bearer' } });
    expect((await get(url)).status).toBe(401);
    expect((await ask(`Bearer ${token}`)).status).toBe(200);
  });

  it('is possible at a port of its own in a process without the API, which serves nothing else', async () => {
    const port = await freePort();
    await using scene = await startScene({ roles: ['delivery'], config: { metrics: { port } } });
    const values = readings((await get(`http://127.0.0.1:${port}/metrics`)).text);
    expect(values.get('rasket_deliveries_in_flight')).toBe(0);
    expect((await get(`http://127.0.0.1:${port}/emails`)).status).toBe(404);
    await scene.restart();
    expect((await get(`http://127.0.0.1:${port}/metrics`)).status).toBe(200);
  });
});

/** Sends bytes to a peer, and returns everything that it answers. */
function dial(url: string, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = net.connect(Number(new URL(url).port), '127.0.0.1', () => void socket.write(bytes));
    socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    socket.on('error', reject).on('close', () => resolve(text));
  });
}
