// Deliveries as they arrive, verified by the libraries that people use for it, as npm brings them, and as our docs say.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { compileFunction } from 'node:vm';
import { Resend } from 'resend';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { Webhook as SvixWebhook } from 'svix';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi, type MockInstance } from 'vitest';
import { startScene, type Scene, type Team } from '../rig/scene.ts';
import { sceneFor, startWebhookReceiver, type WebhookReceiver, type WebhookRequest } from '../rig/webhook-receiver.ts';

const DAY_MS = 24 * 3_600_000;

type Answer<T> = { data: T | null; error: { name: string; statusCode: number | null; message: string } | null };

/** The data of a call that must have succeeded. */
async function ok<T>(call: PromiseLike<Answer<T>>): Promise<T> {
  const { data, error } = await call;
  expect(error).toBeNull();
  if (data === null) throw new Error('an answer without an error has data');
  return data;
}

const header = ({ headers }: WebhookRequest, name: string): string => headers[name] as string;

const DOCS = readFileSync(new URL('../../docs/webhooks.md', import.meta.url), 'utf8');
/** The samples that the docs print, without their imports. */
const SAMPLES = [...DOCS.matchAll(/^```js\n(.*?)^```/gms)].map(([, code = '']) => code.replaceAll(/^import .*$/gm, ''));

/** Run as it is printed: `event` is what it comes to. */
function verifyByDocs(sample: string | undefined, { body: rawBody, headers }: WebhookRequest, secret: string): unknown {
  const given = {
    Webhook: SvixWebhook,
    createHmac,
    timingSafeEqual,
    rawBody,
    request: { headers },
    process: { env: { WEBHOOK_SECRET: secret } },
  };
  const run = compileFunction(`${sample ?? 'throw new Error("gone")'}\nreturn event;`, Object.keys(given));
  const event = run(...Object.values(given)) as { type: string };
  expect(event.type).toBe('suppression.added');
  return event;
}

/** Each throws what is wrong, or answers. */
const verifiers: Record<string, (request: WebhookRequest, secret: string) => unknown> = {
  svix: ({ body, headers }, secret) => new SvixWebhook(secret).verify(body, headers as Record<string, string>),
  standardwebhooks: ({ body, headers }, secret) =>
    new StandardWebhook(secret).verify(body, headers as Record<string, string>),
  resend: (request, secret) =>
    new Resend('rk_unused').webhooks.verify({
      payload: request.body,
      headers: {
        id: header(request, 'svix-id'),
        timestamp: header(request, 'svix-timestamp'),
        signature: header(request, 'svix-signature'),
      },
      webhookSecret: secret,
    }),
  'docs, with a library': (...delivery) => verifyByDocs(SAMPLES[0], ...delivery),
  'docs, by hand': (...delivery) => verifyByDocs(SAMPLES[1], ...delivery),
};

describe('webhooks and the libraries of their receivers', () => {
  let receiver: WebhookReceiver;
  let scene: Scene;
  let team: Team;
  let resend: Resend;
  const spies = new Map<string, MockInstance>();
  const succeeded = new Set<string>();

  beforeAll(async () => {
    receiver = await startWebhookReceiver();
    scene = await startScene(sceneFor(receiver));
    receiver.publishIn(scene.dns);
    team = await scene.team();
    vi.stubEnv('RESEND_BASE_URL', scene.url);
    resend = new Resend(team.key);
    watch('webhooks', resend.webhooks);
  });
  afterEach(async () => {
    for (const [name, spy] of spies) {
      for (const { value, type } of spy.mock.results) {
        const answer = (await value) as Partial<Answer<unknown>> | undefined;
        // verify answers what was signed; all others an answer with an error of null.
        if (type === 'return' && (answer?.error === null || name === 'webhooks.verify')) succeeded.add(name);
      }
    }
  });
  afterAll(async () => {
    vi.useRealTimers();
    vi.unstubAllEnvs();
    await scene.close();
    await receiver.close();
  });

  function watch(name: string, family: object): void {
    for (const [key, value] of Object.entries(family)) {
      if (key !== 'resend' && typeof value === 'object') watch(`${name}.${key}`, value as object);
    }
    for (const method of Object.getOwnPropertyNames(Object.getPrototypeOf(family))) {
      if (method === 'constructor') continue;
      spies.set(`${name}.${method}`, vi.spyOn(family as Record<string, () => unknown>, method));
    }
  }

  /** Returns the verifiers that accept a request. They look at the clock of their own machine, which shows the scene's time. */
  function accepted(request: WebhookRequest, secret: string): string[] {
    vi.useFakeTimers({ toFake: ['Date'], now: scene.clock.now() });
    try {
      return Object.keys(verifiers).filter((name) => {
        try {
          verifiers[name]?.(request, secret);
          return true;
        } catch {
          return false;
        }
      });
    } finally {
      vi.useRealTimers();
    }
  }
  const everybody = Object.keys(verifiers);

  let suppressed = 0;
  /** Something happens, and the endpoint at `path` is told. */
  async function nextDelivery(path: string): Promise<WebhookRequest> {
    const before = receiver.requests.filter((request) => request.path === path).length;
    await ok(resend.suppressions.add({ email: `someone${++suppressed}@example.org` }));
    const request = (await receiver.until(before + 1, path)).at(-1);
    await scene.settled();
    if (!request) throw new Error(`nothing came to ${path}`);
    return request;
  }
  const readSignatures = (request: WebhookRequest): string[] => header(request, 'svix-signature').split(' ');
  const endpoint = (path: string) =>
    ok(resend.webhooks.create({ endpoint: receiver.url(path), events: ['suppression.added'] }));

  it('agree on a delivery, and not with another body, id, time or secret', async () => {
    const { signing_secret: secret } = await endpoint('/one');
    const request = await nextDelivery('/one');
    expect(readSignatures(request)).toEqual([expect.stringMatching(/^v1,[A-Za-z0-9+/]{43}=$/) as string]);
    expect(accepted(request, secret)).toEqual(everybody);
    const changed = (more: Record<string, string>): WebhookRequest => ({
      ...request,
      headers: { ...request.headers, ...more },
    });
    const later = String(Number(header(request, 'svix-timestamp')) + 1);
    expect(accepted({ ...request, body: `${request.body} ` }, secret)).toEqual([]);
    expect(accepted(changed({ 'svix-id': 'msg_1', 'webhook-id': 'msg_1' }), secret)).toEqual([]);
    expect(accepted(changed({ 'svix-timestamp': later, 'webhook-timestamp': later }), secret)).toEqual([]);
    expect(accepted(request, `whsec_${'A'.repeat(32)}`)).toEqual([]);
    for (const part of ['id', 'timestamp', 'signature']) {
      expect(header(request, `webhook-${part}`)).toBe(header(request, `svix-${part}`));
    }
    // The clock of the receiver may differ by five minutes, and not by more.
    scene.clock.advance(299_000);
    expect(accepted(request, secret)).toEqual(everybody);
    scene.clock.advance(3_000);
    expect(accepted(request, secret)).toEqual([]);
  });

  it('accept both secrets for 24 hours after a rotation, and then only the new one', async () => {
    const { id, signing_secret: first } = await endpoint('/rotated');
    const { signing_secret: second } = await ok(resend.webhooks.rotateSigningSecret(id));
    expect(second).not.toBe(first);
    const rotatedAt = scene.clock.now();
    for (const afterMs of [0, DAY_MS - 1]) {
      scene.clock.advance(rotatedAt + afterMs - scene.clock.now());
      const request = await nextDelivery('/rotated');
      expect(readSignatures(request), `${afterMs} ms after`).toHaveLength(2);
      expect([accepted(request, first), accepted(request, second)]).toEqual([everybody, everybody]);
    }
    scene.clock.advance(1);
    const request = await nextDelivery('/rotated');
    expect(readSignatures(request)).toHaveLength(1);
    expect([accepted(request, first), accepted(request, second)]).toEqual([[], everybody]);
  });

  it('accept the two latest secrets after two rotations in a day', async () => {
    const { id, signing_secret: first } = await endpoint('/twice');
    const { signing_secret: second } = await ok(resend.webhooks.rotateSigningSecret(id));
    const { signing_secret: third } = await ok(resend.webhooks.rotateSigningSecret(id));
    const request = await nextDelivery('/twice');
    expect([first, second, third].map((secret) => accepted(request, secret))).toEqual([[], everybody, everybody]);
  });

  it('accept a replay with the same id and bytes and a new timestamp and signature', async () => {
    const { id, signing_secret: secret } = await endpoint('/replayed');
    const request = await nextDelivery('/replayed');
    scene.clock.advance(3_600_000);
    expect(accepted(request, secret)).toEqual([]);
    const eventId = header(request, 'svix-id');
    expect(await ok(resend.webhooks.events.replay({ webhookId: id, eventId }))).toEqual({
      object: 'webhook_event',
      id: eventId,
    });
    const again = (await receiver.until(2, '/replayed')).at(-1);
    if (!again) throw new Error('nothing came again');
    expect([again.body, header(again, 'svix-id')]).toEqual([request.body, eventId]);
    expect(Number(header(again, 'svix-timestamp'))).toBe(Math.floor(scene.clock.now() / 1000));
    expect(readSignatures(again)).not.toEqual(readSignatures(request));
    expect(accepted(again, secret)).toEqual(everybody);
  });

  it('are managed by the resend client, which reads what endpoints were sent', async () => {
    const made = await ok(resend.webhooks.create({ endpoint: receiver.url('/client'), events: ['suppression.added'] }));
    expect(made).toMatchObject({ object: 'webhook', signing_secret: expect.stringMatching(/^whsec_/) as string });
    const { id } = made;
    expect(await ok(resend.webhooks.get(id))).toMatchObject({
      object: 'webhook',
      id,
      endpoint: receiver.url('/client'),
      events: ['suppression.added'],
      status: 'enabled',
    });
    expect((await ok(resend.webhooks.list({ limit: 1 }))).data).toMatchObject([{ id }]);

    receiver.reply(503, '/client');
    const request = await nextDelivery('/client');
    const eventId = header(request, 'svix-id');
    const listed = await ok(resend.webhooks.events.list({ webhookId: id, limit: 5 }));
    expect(listed.data).toMatchObject([{ id: eventId, type: 'suppression.added', status: 'attempting' }]);
    const event = await ok(resend.webhooks.events.get({ webhookId: id, eventId }));
    expect(event).toMatchObject({ object: 'webhook_event', id: eventId, type: 'suppression.added' });
    expect(Date.parse(event.next_attempt_at ?? '')).toBeGreaterThan(scene.clock.now());
    const attempts = await ok(resend.webhooks.events.attempts.list({ webhookId: id, eventId }));
    expect(attempts.data).toMatchObject([{ http_status_code: 503, response: 'ok' }]);

    expect(await ok(resend.webhooks.update(id, { status: 'disabled' }))).toEqual({ object: 'webhook', id });
    expect((await resend.webhooks.events.replay({ webhookId: id, eventId })).error).toMatchObject({
      name: 'validation_error',
      statusCode: 422,
    });
    vi.useFakeTimers({ toFake: ['Date'], now: scene.clock.now() });
    const timestamp = header(request, 'svix-timestamp');
    const signature = header(request, 'svix-signature');
    const headers = { id: eventId, timestamp, signature };
    const verified = resend.webhooks.verify({ payload: request.body, headers, webhookSecret: made.signing_secret });
    vi.useRealTimers();
    expect(verified).toEqual(request.payload);
    expect(await ok(resend.webhooks.remove(id))).toEqual({ object: 'webhook', id, deleted: true });
    expect((await resend.webhooks.get(id)).error).toMatchObject({ name: 'not_found', statusCode: 404 });
  });

  it('have every method called in this file, with success', () => {
    expect(spies.size).toBeGreaterThanOrEqual(11);
    expect([...spies.keys()].filter((name) => !succeeded.has(name))).toEqual([]);
  });
});
