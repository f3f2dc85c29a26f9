import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

let scene: Scene;
let team: Team;
let automation: string;
beforeAll(async () => {
  scene = await startScene({ roles: ['http'] });
});
afterAll(() => scene.close());

const call = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
  scene.api(method, path, { key: team.key, headers, ...(body === undefined ? {} : { body }) });
const send = (body: unknown, headers?: Record<string, string>) => call('POST', '/events/send/batch', body, headers);
const permissive = { 'x-batch-validation': 'permissive' };

interface Run {
  contact_id: string;
  payload: string | null;
  batch: number;
}

/** Returns the runs of the automation in the order in which they were begun. */
const listRuns = (): Promise<Run[]> =>
  scene.app.world.db.all<Run>(
    'select contact_id, payload, batch from automation_runs where automation_id = ? order by id',
    [automation],
  );
const listPayloads = async (): Promise<unknown[]> =>
  (await listRuns()).map(({ payload }) => (payload === null ? null : JSON.parse(payload)));

beforeAll(async () => {
  team = await scene.team();
});

/** Declares an event with an automation that starts at it, and contacts. */
async function prepare(contacts: number, more: object = {}): Promise<{ event: string; emails: string[] }> {
  team = await scene.team();
  await call('POST', '/events', { name: 'cart', schema: { total: 'number' } });
  const steps = [{ key: 'start', type: 'trigger', config: { event_name: 'cart' } }];
  const body = { name: 'Cart', status: 'enabled', connections: [], steps, ...more };
  automation = (await call('POST', '/automations', body)).body.id;
  const emails = Array.from({ length: contacts }, (_, i) => `n${i}@example.org`);
  if (contacts > 0) {
    const made = await call(
      'POST',
      '/contacts/batch',
      emails.map((email) => ({ email })),
    );
    expect(made.status, made.text).toBe(201);
  }
  return { event: 'cart', emails };
}

describe('POST /events/send/batch', () => {
  it('sends each event by address or id, starts a run of each in the order of the request, and returns each', async () => {
    const { emails } = await prepare(3);
    const { id } = (await call('GET', `/contacts/${emails[2]}`)).body;
    const sent = await send([
      { event: 'cart', email: 'N0@example.org', payload: { total: 1 } },
      { event: 'cart', contact_id: id, payload: { total: 2 } },
      { event: 'cart', email: emails[0], payload: { total: 3 } },
    ]);
    expect([sent.status, sent.body]).toEqual([202, { data: [0, 1, 2].map((index) => ({ index, event: 'cart' })) }]);
    expect(await listPayloads()).toEqual([{ total: 1 }, { total: 2 }, { total: 3 }]);
    const runs = await listRuns();
    expect([runs[1]?.contact_id, runs[2]?.contact_id]).toEqual([id, runs[0]?.contact_id]);
  });

  it('takes 1,000 events and refuses 1,001, an empty list and anything else than a list', async () => {
    const { emails } = await prepare(1000);
    const events = emails.map((email, total) => ({ event: 'cart', email, payload: { total } }));
    const sent = await send(events);
    expect([sent.status, sent.body.data.length]).toEqual([202, 1000]);
    expect(await listPayloads()).toEqual(events.map(({ payload }) => payload));
    for (const body of [[...events, events[0]], [], {}, '"x"']) {
      for (const headers of [{}, permissive]) {
        const refused = await send(body, headers);
        expect(refused).toMatchObject({ status: 400, body: { name: 'validation_error' } });
        expect(refused.body.message).toContain('1 to 1,000 events');
      }
    }
    expect(await listRuns()).toHaveLength(1000);
  });

  it('gives ten or more runs of an automation one batch number, and leaves fewer alone', async () => {
    const { emails } = await prepare(1000);
    await send(emails.slice(0, 9).map((email) => ({ event: 'cart', email })));
    expect(new Set((await listRuns()).map(({ batch }) => batch))).toEqual(new Set([0]));
    await send(emails.map((email) => ({ event: 'cart', email })));
    const batches = new Set((await listRuns()).slice(9).map(({ batch }) => batch));
    expect(batches.size).toBe(1);
    expect(batches.has(0)).toBe(false);
  });

  it('lets a contact enter an automation once if it may not enter again', async () => {
    const { emails } = await prepare(700, { reentry: 'never' });
    const twice = [...emails, ...emails.slice(0, 300)];
    expect((await send(twice.map((email) => ({ event: 'cart', email })))).body.data).toHaveLength(1000);
    expect(await listRuns()).toHaveLength(700);
  });

  it('can be called with a sending key', async () => {
    const { emails } = await prepare(1);
    const key = await team.sendingKey();
    const body = [{ event: 'cart', email: emails[0] }];
    expect((await scene.api('POST', '/events/send/batch', { key, body })).status).toBe(202);
  });

  const BAD: [string, object, number, string, string][] = [
    ['breaks the contract', { event: 'cart', email: 7 }, 400, 'validation_error', '1.email'],
    [
      'has an unknown field',
      { event: 'cart', email: 'n0@example.org', colour: 'red' },
      400,
      'validation_error',
      '1.colour',
    ],
    ['names no contact', { event: 'cart' }, 422, 'missing_required_field', '1'],
    [
      'names a contact twice',
      { event: 'cart', email: 'n0@example.org', contact_id: randomUUID() },
      422,
      'validation_error',
      '1.email',
    ],
    ['names an unknown event', { event: 'none', email: 'n0@example.org' }, 404, 'not_found', '1.event'],
    ['names an unknown address', { event: 'cart', email: 'none@example.org' }, 404, 'not_found', '1.email'],
    ['names an unknown id', { event: 'cart', contact_id: randomUUID() }, 404, 'not_found', '1.contact_id'],
    [
      'breaks the schema',
      { event: 'cart', email: 'n0@example.org', payload: { total: 'x' } },
      422,
      'validation_error',
      '1.payload.total',
    ],
    [
      'is too large',
      { event: 'cart', email: 'n0@example.org', payload: { total: 1, x: 'y'.repeat(16_384) } },
      422,
      'validation_error',
      '1.payload',
    ],
  ];

  it.each(BAD)('refuses all events if one %s, and names index and field', async (_, event, status, name, path) => {
    const { emails } = await prepare(1);
    const good = { event: 'cart', email: emails[0] };
    const refused = await send([good, event, good]);
    expect(refused).toMatchObject({ status, body: { statusCode: status, name } });
    expect(refused.body.errors.map((error: { path: string }) => error.path)).toEqual([path]);
    expect(await listRuns()).toEqual([]);
  });

  it('names each of several refused events in strict mode', async () => {
    const { emails } = await prepare(1);
    const refused = await send([
      { event: 'none', email: emails[0] },
      { event: 'cart', email: emails[0] },
      { event: 'cart', email: 'none@example.org' },
    ]);
    expect(refused.body.message).toBe('Event 0: Event not found. (and 1 more)');
    expect(refused.body.errors.map((error: { path: string }) => error.path)).toEqual(['0.event', '2.email']);
  });

  it('sends the valid events in permissive mode, and names the others with index, field and message', async () => {
    const { emails } = await prepare(2);
    const good = (total: number) => ({ event: 'cart', email: emails[total % 2], payload: { total } });
    const items = BAD.flatMap(([, event], i) => [good(i), event]);
    const sent = await send(items, permissive);
    expect(sent.status).toBe(202);
    expect(sent.body.data).toEqual(BAD.map((_, i) => ({ index: i * 2, event: 'cart' })));
    const fields = sent.body.errors.map((error: { index: number; field: string | null }) => [error.index, error.field]);
    expect(fields).toEqual(BAD.map(([, , , , path], i) => [i * 2 + 1, path === '1' ? null : path.slice(2)]));
    for (const { message } of sent.body.errors) expect(message.length).toBeGreaterThan(5);
    expect(await listPayloads()).toEqual(BAD.map((_, total) => ({ total })));
    expect((await send([good(0)], permissive)).body.errors).toEqual([]);
  });

  it('starts no further runs if it is repeated with the same Idempotency-Key, and returns the first response', async () => {
    const { emails } = await prepare(2);
    const events = [...emails, 'none@example.org'].map((email) => ({ event: 'cart', email }));
    const headers = { ...permissive, 'idempotency-key': randomUUID() };
    const first = await send(events, headers);
    expect(await send(events, headers)).toMatchObject({ status: 202, text: first.text });
    expect(await listRuns()).toHaveLength(2);
    const other = await send(events.slice(1), headers);
    expect(other).toMatchObject({ status: 409, body: { name: 'invalid_idempotent_request' } });
    const together = { 'idempotency-key': randomUUID() };
    const both = await Promise.all([send(events.slice(0, 2), together), send(events.slice(0, 2), together)]);
    expect(both.map(({ status }) => status).sort()).toEqual([
      202,
      expect.toSatisfy((status) => [202, 409].includes(status)),
    ]);
    expect(await listRuns()).toHaveLength(4);
  });

  it('lets other requests run while it begins many runs', async () => {
    const { emails } = await prepare(1000);
    const steps = [{ key: 'start', type: 'trigger', config: { event_name: 'cart' } }];
    for (let i = 0; i < 4; i++) {
      await call('POST', '/automations', { name: `Cart ${i}`, status: 'enabled', connections: [], steps });
    }
    let isOver = false;
    const sending = send(emails.map((email) => ({ event: 'cart', email }))).finally(() => (isOver = true));
    let served = 0;
    while (!isOver) {
      await scene.api('GET', '/health', {});
      if (!isOver) served++;
    }
    expect((await sending).status).toBe(202);
    const { n } = (await scene.app.world.db.get<{ n: number }>(
      'select count(*) as n from automation_runs where team_id = ?',
      [team.id],
    )) ?? { n: 0 };
    expect(Number(n)).toBe(5000);
    expect(served).toBeGreaterThan(3);
  });
});
