import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HOUR, mailIn, MINUTE, SECOND, type Mail } from '../../flow/mail.ts';
import { startScene, type Scene } from '../../rig/scene.ts';

let scene: Scene;
let mail: Mail;
let token: string;
/** The reply to RCPT TO for addresses that begin with `limited`. */
let limitedReply = '';
const UNUSUAL_RATE =
  '450 4.7.28 Gmail has detected an unusual rate of unsolicited mail originating from your IP address.';

beforeAll(async () => {
  scene = await startScene({
    sink: {
      tls: 'starttls',
      script: (command) => (/^RCPT TO:<limited/i.test(command) ? limitedReply : undefined),
    },
    config: { providers: { quiet: { title: 'Quiet Mail', mx: ['.quiet.test'], connections: 3 } } },
    startAt: '2026-11-20T09:02:00Z',
  });
  mail = await mailIn(scene);
  token = await scene.operator();
});
afterAll(() => scene.close());

let count = 0;
/** Returns a new recipient domain with this mail server. */
function domainAt(host: string): string {
  const name = `p${++count}.example`;
  scene.dns.set(host, 'A', ['127.0.0.1']);
  scene.dns.set(name, 'MX', [`10 ${host}`]);
  return name;
}

const ask = async (method: string, path = '', body?: Record<string, unknown>) =>
  scene.api(method, `/operator/providers${path}`, { key: token, ...(body ? { body } : {}) });
const listed = async () => (await ask('GET', '?limit=100')).body.data as Record<string, unknown>[];
const find = async (id: string) => (await listed()).find((one) => one['id'] === id);
const suspend = (id: string, minutes = 60) =>
  ask('POST', `/${encodeURIComponent(id)}/suspend`, { minutes, reason: 'Their servers are under maintenance' });
const change = (id: string, what: 'resume' | 'reset') => ask('POST', `/${encodeURIComponent(id)}/${what}`);

async function sendTo(...to: string[]): Promise<string[]> {
  const ids = [];
  for (const one of to) ids.push(await mail.send(one));
  await scene.settled();
  return ids;
}
const fetchPending = async (id: string, key = mail.team.key) =>
  (await scene.api('GET', `/emails/${id}/attempts`, { key })).body.pending;

describe('the list of providers', () => {
  it('has the queue, the traffic, the connections and the limits of each provider', async () => {
    const domain = domainAt('mx.quiet.test');
    await sendTo(`a@${domain}`, `b@${domain}`, `permfail@${domain}`, `tempfail@${domain}`);
    expect(await find('quiet')).toMatchObject({
      object: 'provider',
      title: 'Quiet Mail',
      deliveries: 1,
      oldest_at: new Date(scene.clock.now()).toISOString(),
      messages_per_minute: { now: 0, limit: null },
      connections: { now: expect.any(Number), limit: 3 },
      suspended_until: null,
      limits: [],
      last_hour: { accepted: 2, deferred: 1, bounced: 1 },
    });
    const { connections } = (await find('quiet')) as { connections: { now: number } };
    expect(connections.now).toBeGreaterThanOrEqual(1);
    expect(connections.now).toBeLessThanOrEqual(3);
    scene.clock.advance(4 * MINUTE);
    await scene.settled();
    const { messages_per_minute: rate } = (await find('quiet')) as { messages_per_minute: { now: number } };
    expect(rate.now).toBeGreaterThanOrEqual(0.8);
  });

  it('names receivers without a provider by their mail servers, and pages through all', async () => {
    const domain = domainAt('mx.small-receiver.test');
    await sendTo(`a@${domain}`);
    expect(await find('mx.small-receiver.test')).toMatchObject({
      title: 'mx.small-receiver.test',
      connections: { limit: expect.any(Number) },
      last_hour: { accepted: 1 },
    });
    const ids = (await listed()).map(({ id }) => id);
    const first = await ask('GET', '?limit=1');
    expect(first.body).toMatchObject({ has_more: true, data: [{ id: ids[0] }] });
    const second = await ask('GET', `?limit=1&after=${encodeURIComponent(String(ids[0]))}`);
    expect(second.body).toMatchObject({ has_more: ids.length > 2, data: [{ id: ids[1] }] });
    const back = await ask('GET', `?before=${encodeURIComponent(String(ids[1]))}`);
    expect(back.body).toMatchObject({ has_more: false, data: [{ id: ids[0] }] });
  });

  it('counts mail whose mail servers were not looked up yet in an entry of its own', async () => {
    const scheduled_at = new Date(scene.clock.now() + HOUR).toISOString();
    await mail.send('x@never-seen.example', { scheduled_at });
    expect(await find('not-looked-up')).toMatchObject({ title: 'Not looked up yet', deliveries: 1 });
    const detail = await ask('GET', '/not-looked-up');
    expect(detail.body).toMatchObject({
      settings: [],
      destinations: [{ destination: 'never-seen.example', deliveries: 1 }],
    });
    expect((await suspend('not-looked-up')).status).toBe(404);
  });

  it('ends with a detail that names the origin of each limit', async () => {
    const { body } = await ask('GET', '/quiet');
    expect(body.settings).toEqual(
      expect.arrayContaining([
        { key: 'providers.quiet.connections', value: 3, origin: 'an override' },
        { key: 'providers.quiet.idle_seconds', value: 5, origin: 'delivery.idle_seconds' },
      ]),
    );
    expect((await ask('GET', '/google')).body.settings).toContainEqual({
      key: 'providers.google.connections',
      value: 10,
      origin: 'config/providers.toml',
    });
    expect((await ask('GET', '/mx.small-receiver.test')).body.settings).toContainEqual({
      key: 'delivery.max_connections_per_destination',
      value: expect.any(Number),
      origin: 'config/default.toml',
    });
    expect((await ask('GET', '/nobody.test')).status).toBe(404);
  });
});

describe('a suspension by an operator', () => {
  it('keeps mail in the queue until it is resumed, and says why it waits', async () => {
    const domain = domainAt('mx.quiet.test');
    const until = scene.clock.now() + HOUR;
    const made = await suspend('quiet');
    expect(made).toMatchObject({
      status: 200,
      body: {
        id: 'quiet',
        suspended_until: new Date(until).toISOString(),
        limits: [
          {
            kind: 'suspended',
            value: null,
            reason: 'Their servers are under maintenance',
            set_by: 'operator',
            sender_domain: null,
            stream: null,
            source: null,
            is_recovering: false,
          },
        ],
      },
    });
    const [first = '', second = ''] = await sendTo(`a@${domain}`, `b@${domain}`);
    // Delivery stores within seconds, or when somebody asks, which mail servers a domain has.
    await find('quiet');
    const why = `an operator suspended mail to Quiet Mail until ${new Date(until).toISOString().slice(11, 16)} UTC: Their servers are under maintenance`;
    expect(await fetchPending(first)).toMatchObject([
      { state: 'waiting', attempts: 0, until: new Date(until).toISOString(), waits_because: why },
    ]);
    const inQueue = async (path: string) => (await scene.api('GET', `/operator/queue${path}`, { key: token })).body;
    expect((await inQueue(`/deliveries?email_id=${first}`)).data).toMatchObject([
      { state: 'waiting', waits_because: why },
    ]);
    expect((await inQueue(`/emails/${first}`)).pending).toMatchObject([{ waits_because: why }]);
    expect((await inQueue('')).destinations.find((one: { destination: string }) => one.destination === domain)).toEqual(
      expect.objectContaining({ waits_because: why }),
    );
    expect((await change('quiet', 'resume')).body).toEqual({
      object: 'provider_change',
      id: 'quiet',
      removed: 1,
      deliveries: 2,
    });
    await scene.settled();
    for (const id of [first, second]) expect((await mail.account(id)).state).toBe('delivered');
    expect((await change('quiet', 'resume')).body).toMatchObject({ removed: 0, deliveries: 0 });
    expect(await find('quiet')).toMatchObject({ suspended_until: null, limits: [] });
  });

  it('ends with its time, and a second one replaces the first', async () => {
    const domain = domainAt('mx.other-receiver.test');
    await sendTo(`a@${domain}`);
    await suspend('mx.other-receiver.test', 60);
    expect((await suspend('mx.other-receiver.test', 10)).body.limits).toHaveLength(1);
    const [id = ''] = await sendTo(`b@${domain}`);
    expect((await mail.account(id)).arrived).toEqual([]);
    scene.clock.advance(10 * MINUTE + SECOND);
    await scene.settled();
    await expect.poll(async () => (await mail.account(id)).state).toBe('delivered');
  });

  it('suspensions are recorded in the audit log, and are refused without a reason or of an unknown receiver', async () => {
    await suspend('quiet', 1);
    await change('quiet', 'reset');
    const { body } = await scene.api('GET', '/operator/audit?limit=2', { key: token });
    expect(body.data).toMatchObject([
      { action: 'provider.reset', subject_id: 'quiet', actor: { kind: 'operator', name: 'Ada' } },
      { action: 'provider.suspended', subject_id: 'quiet', details: { minutes: 1 } },
    ]);
    expect((await ask('POST', '/quiet/suspend', { minutes: 0, reason: 'x' })).status).toBe(400);
    expect((await ask('POST', '/quiet/suspend', { minutes: 10_081, reason: 'x' })).status).toBe(400);
    expect((await ask('POST', '/quiet/suspend', { minutes: 5 })).status).toBe(422);
    expect((await suspend('nobody.test')).status).toBe(404);
    expect((await change('nobody.test', 'reset')).status).toBe(404);
    expect((await scene.api('GET', '/operator/providers', { key: mail.team.key })).status).toBe(403);
  });

  it('never keeps mail longer than other deferred mail, which then bounces with the reason', async () => {
    const domain = domainAt('mx.quiet.test');
    await suspend('quiet', 10_080);
    const [id = ''] = await sendTo(`a@${domain}`);
    const [{ until }] = await fetchPending(id);
    expect(Date.parse(until)).toBe(scene.clock.now() + 48 * HOUR);
    scene.clock.advance(48 * HOUR);
    await scene.settled();
    expect(await mail.account(id)).toMatchObject({ state: 'bounced', arrived: [], waiting: [] });
    expect(await mail.detail(id, 'email.bounced')).toMatchObject({
      bounce: {
        type: 'Transient',
        subType: 'General',
        message: expect.stringMatching(
          /^Delivery was given up after the retry period of 48 hours, .*an operator suspended/,
        ),
      },
    });
    await change('quiet', 'reset');
  });
});

describe('a limit that replies bring about', () => {
  it('limits that replies bring about are shown with the reply, and to a team only for its own sending domains', async () => {
    limitedReply = UNUSUAL_RATE;
    const domain = domainAt('mx.l.google.com');
    const [id = ''] = await sendTo(`limited-1@${domain}`);
    await sendTo(`limited-2@${domain}`, `limited-3@${domain}`);
    const google = await find('google');
    expect(google).toMatchObject({
      messages_per_minute: { limit: 10 },
      limits: expect.arrayContaining([
        expect.objectContaining({
          kind: 'messages_per_minute',
          value: 10,
          set_by: 'reply',
          sender_domain: null,
          stream: null,
          reason: UNUSUAL_RATE,
        }),
      ]),
    });
    expect((await fetchPending(id))[0].waits_because).toMatch(
      /^Gmail limits us to 10 messages a minute until \d\d:\d\d UTC because of 450 4\.7\.28 Gmail has detected an unusual/,
    );
    expect((await change('google', 'reset')).body).toMatchObject({ removed: 1 });
    expect((await fetchPending(id))[0].waits_because).toBeNull();

    const { db, clock, ids } = scene.app.world;
    const other = await mailIn(scene);
    const row = {
      id: ids.uuid(),
      source: '',
      provider: 'google',
      servers: '',
      sender_domain: other.domain.name,
      stream: '',
      kind: 'suspend',
      value: null,
      started_at: clock.now(),
      until_at: clock.now() + HOUR,
      step: 0,
      reaction: 'a rule',
      reason: '421 4.7.0 very low reputation of the sending domain',
    };
    await db.insertMany('throttles', Object.keys(row), [Object.values(row)]);
    expect(await find('google')).toMatchObject({
      suspended_until: null,
      limits: [{ kind: 'suspended', sender_domain: other.domain.name }],
    });
    const theirs = await other.send(`a@${domain}`);
    await scene.settled();
    expect((await fetchPending(theirs, other.team.key))[0].waits_because).toContain(
      `mail from ${other.domain.name} to Gmail is suspended until`,
    );
    expect((await fetchPending(id))[0].waits_because).toBeNull();
    await change('google', 'resume');
    await scene.settled();
    expect((await other.account(theirs)).state).toBe('delivered');
  });

  it('a reply that suspends a provider is a finding for operators', async () => {
    const { db, clock, ids } = scene.app.world;
    const row = {
      id: ids.uuid(),
      source: '',
      provider: 'yahoo',
      servers: '',
      sender_domain: '',
      stream: '',
      kind: 'suspend',
      value: null,
      started_at: clock.now(),
      until_at: clock.now() + HOUR,
      step: 0,
      reaction: 'a rule',
      reason: '421 4.7.0 [TSS04] Messages from 127.0.0.1 temporarily deferred',
    };
    await db.insertMany('throttles', Object.keys(row), [Object.values(row)]);
    const findings = async () =>
      (await scene.api('GET', '/operator/findings', { key: token })).body.findings.filter(
        ({ code }: { code: string }) => code === 'provider_suspended',
      );
    expect(await findings()).toMatchObject([
      { severity: 'warning', subjects: ['yahoo'], summary: expect.stringContaining('[TSS04]') },
    ]);
    await change('yahoo', 'reset');
    expect(await findings()).toEqual([]);
  });
});

describe('the metrics of providers', () => {
  it('count deliveries by provider and outcome, with one label for all other receivers', async () => {
    await sendTo(`a@${domainAt('mx.quiet.test')}`, `a@${domainAt('mx.last-receiver.test')}`);
    await suspend('quiet', 5);
    scene.clock.advance(2 * SECOND);
    const text = await scene.app.world.meter.text();
    expect(text).toMatch(/^rasket_provider_deliveries_total\{provider="quiet",outcome="delivered"\} \d+$/m);
    expect(text).toMatch(/^rasket_provider_deliveries_total\{provider="other",outcome="delivered"\} \d+$/m);
    expect(text).toMatch(/^rasket_provider_connections\{provider="quiet"\} \d+$/m);
    expect(text).toMatch(/^rasket_provider_suspended\{provider="quiet"\} 1$/m);
    expect(text).toMatch(/^rasket_provider_suspended\{provider="other"\} 0$/m);
    expect(text).not.toContain('.test"');
    await change('quiet', 'reset');
  });
});
