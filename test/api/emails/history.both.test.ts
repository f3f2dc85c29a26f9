import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

const MINUTE_MS = 60_000;

interface Attempt {
  id: string;
  attempt: number;
  destination: string;
  mx: string | null;
  address: string | null;
  tls: unknown;
  recipients: Record<string, unknown>[];
  transcript: string[];
}

let scene: Scene;
beforeAll(async () => {
  scene = await startScene();
});
afterAll(() => scene.close());

async function sender(): Promise<{ team: Team; send: (...to: string[]) => Promise<string> }> {
  const team = await scene.team();
  const { name } = await team.domain();
  const send = async (...to: string[]): Promise<string> => {
    const body = { from: `a@${name}`, to, subject: 'Hello', text: 'A secret text' };
    return (await scene.api('POST', '/emails', { key: team.key, body })).body.id as string;
  };
  return { team, send };
}
const fetchAttempts = async (team: Team, id: string, query = '') =>
  (await scene.api('GET', `/emails/${id}/attempts${query}`, { key: team.key })).body as {
    has_more: boolean;
    data: Attempt[];
    pending: Record<string, unknown>[];
  };

describe('GET /emails/{email_id}/attempts', () => {
  it('shows which recipients are suppressed now, whatever the attempt said', async () => {
    const { team, send } = await sender();
    const id = await send('permfail@gone.example', 'Ada <Ada@one.example>', 'eve@one.example');
    const suppressed = async () =>
      ((await fetchAttempts(team, id)) as unknown as { suppressed: { email: string; origin: string }[] }).suppressed;
    expect(await suppressed()).toEqual([]);
    await scene.settled();
    expect(await suppressed()).toEqual([
      { email: 'permfail@gone.example', origin: 'bounce', created_at: new Date(scene.clock.now()).toISOString() },
    ]);
    await scene.api('POST', '/suppressions', { key: team.key, body: { email: 'ada@one.example' } });
    expect((await suppressed()).map(({ email, origin }) => [email, origin])).toEqual([
      ['permfail@gone.example', 'bounce'],
      ['Ada@one.example', 'manual'],
    ]);
    await scene.api('DELETE', '/suppressions/permfail@gone.example', { key: team.key });
    expect((await suppressed()).map(({ email }) => email)).toEqual(['Ada@one.example']);
  });

  it('shows a delivery with server, TLS, reply and the dialogue without the content', async () => {
    const { team, send } = await sender();
    const id = await send('ada@one.example');
    await scene.settled();
    const { data, pending, has_more: hasMore } = await fetchAttempts(team, id);
    expect([data.length, pending, hasMore]).toEqual([1, [], false]);
    expect(data[0]).toMatchObject({
      attempt: 1,
      destination: 'one.example',
      mx: 'mx.sink.test',
      address: '127.0.0.1',
      recipients: [
        {
          email: 'ada@one.example',
          outcome: 'delivered',
          reason: null,
          reply: expect.stringMatching(/^250 /) as string,
          explanation: 'The recipient’s mail server accepted the message.',
          advice: null,
        },
      ],
    });
    const said = data[0]?.transcript.join('\n') ?? '';
    expect(said).toContain('C: RCPT TO:<ada@one.example>');
    expect(said).toMatch(/^S: 220 /);
    expect(said).not.toContain('secret');
  });

  it('does not show the dialogue of another message on the same connection', async () => {
    const one = await sender();
    const two = await sender();
    await one.send('private@shared.example');
    await scene.settled();
    const id = await two.send('other@shared.example');
    await scene.settled();
    const said = (await fetchAttempts(two.team, id)).data[0]?.transcript.join('\n') ?? '';
    expect(said).toContain('other@shared.example');
    expect(said).not.toContain('private');
  });

  it('shows a delay, the next attempt and the end, newest first, by pages', async () => {
    const { team, send } = await sender();
    const id = await send('tempfail@slow.example');
    await scene.settled();
    const first = await fetchAttempts(team, id);
    expect(first.data[0]?.recipients[0]).toMatchObject({ outcome: 'deferred', reason: 'refused_for_now' });
    expect(first.data[0]?.recipients[0]?.['advice']).toContain('retried automatically');
    expect(first.pending).toMatchObject([
      { destination: 'slow.example', recipients: ['tempfail@slow.example'], state: 'waiting', attempts: 1 },
    ]);
    const until = Date.parse(String(first.pending[0]?.['until']));
    expect(until).toBeGreaterThan(scene.clock.now());
    scene.clock.advance(until - scene.clock.now() + MINUTE_MS);
    await scene.settled();
    const both = await fetchAttempts(team, id);
    expect(both.data.map(({ attempt }) => attempt)).toEqual([2, 1]);
    const page = await fetchAttempts(team, id, '?limit=1');
    expect([page.has_more, page.data[0]?.attempt]).toEqual([true, 2]);
    const next = await fetchAttempts(team, id, `?limit=1&after=${page.data[0]?.id}`);
    expect([next.has_more, next.data[0]?.attempt]).toEqual([false, 1]);
  });

  it('shows a result for each recipient, and an attempt for each domain', async () => {
    const { team, send } = await sender();
    const id = await send('permfail@one.example', 'ada@one.example', 'x@gone.invalid');
    scene.dns.set('gone.invalid', 'ANY', 'NXDOMAIN');
    await scene.settled();
    const { data } = await fetchAttempts(team, id);
    const results = data.flatMap(({ mx, recipients }) =>
      recipients.map(({ email, outcome, explanation }) => ({ mx, email, outcome, explanation })),
    );
    expect(results.toSorted((a, b) => (String(a.email) < String(b.email) ? -1 : 1))).toEqual([
      {
        mx: 'mx.sink.test',
        email: 'ada@one.example',
        outcome: 'delivered',
        explanation: expect.any(String) as string,
      },
      {
        mx: 'mx.sink.test',
        email: 'permfail@one.example',
        outcome: 'bounced',
        explanation: 'There is no such mailbox.',
      },
      {
        mx: null,
        email: 'x@gone.invalid',
        outcome: 'bounced',
        explanation: 'The recipient’s domain does not exist.',
      },
    ]);
  });

  it('attributes the answer of the simulator to the simulator alone', async () => {
    const { team, send } = await sender();
    const id = await send('delivered@simulator.rasket.test');
    await scene.settled();
    const { data } = await fetchAttempts(team, id);
    expect(data).toMatchObject([
      { address: null, transcript: [], recipients: [{ outcome: 'delivered', advice: null }] },
    ]);
    expect(data[0]?.recipients[0]?.['explanation']).toBe(
      'The mailbox simulator of this server replied for the recipient; nothing left this server.',
    );
  });

  it('shows no attempt for a suppressed recipient', async () => {
    const { team, send } = await sender();
    await scene.api('POST', '/suppressions', { key: team.key, body: { email: 'no@one.example' } });
    const id = await send('no@one.example');
    await scene.settled();
    expect(await fetchAttempts(team, id)).toMatchObject({ data: [], pending: [] });
  });
});

describe('GET /emails/{email_id}/events', () => {
  it('returns every event, newest first, with its data and its webhook id', async () => {
    const { team, send } = await sender();
    const id = await send('permfail@one.example');
    await scene.settled();
    const { body } = await scene.api('GET', `/emails/${id}/events`, { key: team.key });
    const events = body.data as { id: string; type: string; data: Record<string, unknown> | null }[];
    expect(events.map(({ type }) => type)).toEqual(['email.bounced', 'email.sent', 'email.queued']);
    expect(events[0]?.data).toMatchObject({
      to: ['permfail@one.example'],
      bounce: { type: 'Permanent', diagnosticCode: [expect.stringContaining('smtp; 550')] },
    });
    expect(events.every((event) => /^msg_[0-9a-f]{32}$/.test(event.id))).toBe(true);
    const page = await scene.api('GET', `/emails/${id}/events?limit=1&after=${events[0]?.id}`, { key: team.key });
    expect([page.body.has_more, page.body.data[0].type]).toEqual([true, 'email.sent']);
    const back = await scene.api('GET', `/emails/${id}/events?limit=5&before=${events[1]?.id}`, { key: team.key });
    expect(back.body.data.map((event: { type: string }) => event.type)).toEqual(['email.bounced']);
  });

  it.each(['events', 'attempts'])('returns the same 404 for the %s of a foreign and an unknown email', async (what) => {
    const { team, send } = await sender();
    const other = await sender();
    const id = await send('ada@one.example');
    await scene.settled();
    const foreign = await scene.api('GET', `/emails/${id}/${what}`, { key: other.team.key });
    const none = await scene.api('GET', `/emails/019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77/${what}`, { key: team.key });
    expect([foreign.status, foreign.body]).toEqual([404, none.body]);
  });

  it.each([
    ['events', 'after=nothing', 'after must be the id of an event (msg_…)'],
    ['attempts', 'after=nothing', 'after must be the id of a try'],
    ['attempts', 'limit=101', 'limit'],
  ])('refuses %s?%s and names the parameter', async (what, query, message) => {
    const { team, send } = await sender();
    const id = await send('ada@one.example');
    const refused = await scene.api('GET', `/emails/${id}/${what}?${query}`, { key: team.key });
    expect([refused.status, refused.body.message]).toEqual([422, expect.stringContaining(message)]);
    await scene.settled();
  });

  it('ends with the email when its retention is over', async () => {
    const { team, send } = await sender();
    const id = await send('ada@one.example');
    await scene.settled();
    scene.clock.advance(30 * 24 * 60 * MINUTE_MS + 1);
    await scene.app.jobs.find((job) => job.name === 'remove-expired')?.run();
    expect((await scene.api('GET', `/emails/${id}/attempts`, { key: team.key })).status).toBe(404);
    const left = await scene.app.world.db.all('select id from delivery_attempts where email_id = ?', [id]);
    expect(left).toEqual([]);
  });
});
