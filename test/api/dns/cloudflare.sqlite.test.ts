import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { startCloudflare, type CloudflareStub, type StubRecord } from '../../rig/cloudflare.ts';
import { startScene, type Scene, type SceneOptions, type Team } from '../../rig/scene.ts';

let scene: Scene;
let stub: CloudflareStub;
let team: Team;
let host: string;
let count = 0;

beforeAll(async () => {
  stub = await startCloudflare();
  const cloud = { kind: 'cloudflare', zones: ['example.com'], teams: ['*'], api_url: stub.apiUrl, token: stub.token };
  const own = { api_url: stub.apiUrl };
  scene = await startScene({
    trustedCa: [stub.ca],
    config: {
      network: { http_allow_private: ['127.0.0.0/8'], mail_allow_private: ['127.0.0.0/8'] },
      dns_providers: { cloud, cloudflare: own } as unknown as NonNullable<SceneOptions['config']>['dns_providers'],
    } as SceneOptions['config'] & object,
  });
  scene.dns.set(stub.host, 'A', ['127.0.0.1']);
});

beforeEach(async () => {
  stub.zones = new Map(
    ['example.net', 'other.example', 'example.com', 'example.org', 'deep.example.org'].map((name, i) => [
      name,
      { id: String(i).padStart(32, 'a'), records: [] },
    ]),
  );
  stub.instead = undefined;
  stub.calls = [];
  team = await scene.team();
  host = `mail${++count}.example.com`;
});

afterEach(() => {
  expect(stub.violations).toEqual([]);
});

afterAll(async () => {
  await scene.close();
  await stub.close();
});

const create = async (name = host, settings: object = {}) =>
  (await scene.api('POST', '/domains', { key: team.key, body: { name, ...settings } })).body;
const configure = (id: string, body: object = {}) =>
  scene.api('POST', `/domains/${id}/dns/configure`, { key: team.key, body });
const put = (zone: string, record: Omit<StubRecord, 'id' | 'ttl' | 'proxied'>): void => {
  const records = stub.zones.get(zone)?.records ?? [];
  records.push({ id: String(records.length).padStart(32, 'b'), ttl: 1, proxied: false, ...record });
};

test('the operator’s token publishes records, finds nothing left to do, and removes everything', async () => {
  for (let i = 0; i < 5; i++) put('example.com', { type: 'TXT', name: `send.${host}`, content: `"site-${i}=x"` });
  const before = stub.lines('example.com');
  const domain = await create(host, { click_tracking: true });
  const shown = await configure(domain.id, { dry_run: true });
  expect(shown.body).toMatchObject({ provider: 'cloud', zone: 'example.com', dry_run: true });
  expect(shown.body.changes).toHaveLength(domain.records.length);
  expect(stub.lines('example.com')).toEqual(before);
  const made = await configure(domain.id);
  expect(made.body).toEqual({ ...shown.body, dry_run: false });
  expect(stub.lines('example.com')).toHaveLength(before.length + domain.records.length);
  expect((await configure(domain.id)).body.changes).toEqual([]);
  await configure(domain.id, { remove: true });
  expect(stub.lines('example.com')).toEqual(before);
});

test('the caller’s token reaches its own zones, the innermost first, and is not stored', async () => {
  const name = `mail${count}.deep.example.org`;
  const domain = await create(name);
  const api_token = stub.token;
  const made = await configure(domain.id, { api_token });
  expect(made.body).toMatchObject({ provider: 'cloudflare', zone: 'deep.example.org' });
  expect(stub.lines('deep.example.org')).toHaveLength(domain.records.length);
  // Without the token nothing can be published, least of all by itself.
  await scene.app.jobs.find((job) => job.name === 'publish-dns')?.run();
  expect((await configure(domain.id)).status).toBe(422);
  const logs = await scene.api('GET', '/logs', { key: team.key });
  const log = await scene.api('GET', `/logs/${logs.body.data.at(-2).id}`, { key: team.key });
  expect(log.text + scene.log.join('\n')).not.toContain(stub.token);
  expect((await configure(domain.id, { api_token, remove: true })).status).toBe(200);
  expect(stub.lines('deep.example.org')).toEqual([]);
});

test('a token that does not reach the zone gets a list of the zones it reaches', async () => {
  const domain = await create(`mail${count}.example.edu`);
  const refused = await configure(domain.id, { api_token: stub.token });
  expect(refused.status).toBe(422);
  expect(refused.body.message).toBe(
    `The DNS provider cloudflare has no zone for ${domain.name}; it has example.net, other.example, example.com, example.org, deep.example.org.`,
  );
});

test('api_token is accepted only with Cloudflare', async () => {
  const domain = await create();
  const refused = await configure(domain.id, { api_token: 'abc', provider: 'office' });
  expect(refused.body.message).toContain('set provider to "cloudflare", or omit it');
});

test('a conflicting record is named and nothing is written', async () => {
  put('example.com', { type: 'MX', name: `send.${host}`, content: 'mx.example.net', priority: 1 });
  const domain = await create();
  const refused = await configure(domain.id);
  expect(refused.status).toBe(422);
  expect(refused.body.message).toContain(`send.${host} has the MX record "mx.example.net"`);
  expect(stub.calls.filter((call) => !call.startsWith('GET'))).toEqual([]);
});

const pieces = function* (): Iterable<Buffer> {
  for (let i = 0; i < 50; i++) yield Buffer.alloc(1024 * 1024, ' ');
};

test.each<[string, NonNullable<CloudflareStub['instead']>, number, string]>([
  [
    'HTML',
    { matches: /GET/, status: 200, body: '<html>Just a moment…</html>' },
    503,
    'with status 200 and a body that is not',
  ],
  ['50 MB', { matches: /GET/, status: 200, body: pieces }, 503, 'responded with more than 4194304 bytes'],
  ['a redirect', { matches: /GET/, status: 302, body: '' }, 503, 'with status 302 and a body that is not'],
  ['an empty answer', { matches: /GET/, status: 200, body: '' }, 503, 'a body that is not the JSON of its API'],
  [
    'JSON of another shape',
    { matches: /GET/, status: 200, body: '{"success":true,"result":7}' },
    503,
    'did not return a list',
  ],
  [
    'endless pages',
    { matches: /GET/, status: 200, body: '{"success":true,"result":[],"result_info":{"total_pages":1e9}}' },
    422,
    'more than 20 pages',
  ],
  [
    'its rate limit',
    { matches: /GET/, status: 429, body: '{"success":false,"errors":[{"code":971,"message":"slow\\ndown"}]}' },
    503,
    'slow down (971)',
  ],
  [
    'a refusal to write',
    {
      matches: /POST/,
      status: 403,
      body: '{"success":false,"errors":[{"code":10000,"message":"Authentication error"}]}',
    },
    422,
    'the request to create the TXT record',
  ],
  [
    'a fault while writing',
    { matches: /POST/, status: 500, body: 'oops' },
    503,
    'with status 500 and a body that is not',
  ],
])('%s from the provider gives a clear error', async (_what, instead, status, why) => {
  const domain = await create();
  stub.instead = instead;
  const refused = await configure(domain.id);
  expect(refused.status).toBe(status);
  expect(refused.body.message).toContain(why);
  expect(refused.body.message.length).toBeLessThan(500);
  expect(stub.lines('example.com')).toEqual([]);
});

test('records in a hostile answer cannot redirect later calls', async () => {
  const domain = await create();
  const result = [
    { id: '../../zones', name: `send.${host}`, type: 'TXT', content: 7, ttl: 'x' },
    { id: 5, name: 'a..b', type: 'MX', content: {}, priority: 'x' },
    null,
    { name: 12 },
  ];
  stub.instead = { matches: /GET .*dns_records/, status: 200, body: JSON.stringify({ success: true, result }) };
  const made = await configure(domain.id);
  expect(made.status).toBe(200);
  expect(stub.lines('example.com')).toHaveLength(domain.records.length);
});

test('a wrong token is reported as the provider’s refusal, without the token', async () => {
  const domain = await create(`mail${count}.example.net`);
  const refused = await configure(domain.id, { api_token: 'wrong-token' });
  expect(refused.status).toBe(422);
  expect(refused.body.message).toContain('Invalid access token (9109)');
  expect(refused.text).not.toContain('wrong-token');
});

test('records written before a failure are remembered as ours and removed later', async () => {
  const domain = await create();
  stub.instead = { matches: /^POST/, status: 500, body: 'oops' };
  let posts = 0;
  const matches = { test: (call: string) => call.startsWith('POST') && ++posts > 2 };
  stub.instead.matches = matches as unknown as RegExp;
  const failed = await configure(domain.id);
  expect(failed.status).toBe(503);
  expect(failed.body.message).toContain('2 of');
  expect(stub.lines('example.com')).toHaveLength(2);
  stub.instead = undefined;
  await configure(domain.id, { remove: true });
  expect(stub.lines('example.com')).toEqual([]);
});

test('addresses inside the network are not reached unless the operator allows them', async () => {
  scene.dns.set('inside.cloudflare.test', 'A', ['10.0.0.1']);
  const call = await scene.app.world.callApi(
    { method: 'GET', url: new URL('https://inside.cloudflare.test/'), headers: {} },
    { bytesMax: 10, signal: AbortSignal.timeout(60_000) },
  );
  expect(call).toMatchObject({ kind: 'failed', say: 'inside.cloudflare.test has no address that may be connected to' });
});
