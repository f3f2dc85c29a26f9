import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { insertEmails } from '../../../src/mail/emails/index.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

const UNSHARED = { shared_body_id: null, merge_values: null };
const SECOND = 1000;
const QUARTER = 900_000;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

let scene: Scene;
beforeAll(async () => {
  scene = await startScene();
});
afterAll(() => scene.close());

async function send(team: Team, from: string, to: string | string[], more: object = {}): Promise<string> {
  const body = { from: `a@${from}`, to, subject: 'Hello', text: 'Hello', ...more };
  const answer = await scene.api('POST', '/emails', { key: team.key, body });
  expect(answer.status).toBe(200);
  return answer.body.id as string;
}

const simulator = (local: string): string => `${local}@simulator.rasket.test`;

async function metrics(team: Team, query: Record<string, string> = {}) {
  const answer = await scene.api('GET', `/emails/metrics?${new URLSearchParams(query).toString()}`, { key: team.key });
  expect(answer.status, answer.text).toBe(200);
  return answer.body;
}

/** Writes emails without events. */
async function writeEmails(team: Team, domainId: string, count: number): Promise<void> {
  const { db, ids, clock } = scene.app.world;
  const row = { team_id: team.id, domain_id: domainId, sender: 'a@example.com', to_list: '["b@example.org"]' };
  const more = { subject: 'Hello', message_id: '<1@example.com>', attachment_count: 0, has_message: 0 };
  const none = { api_key_id: null, cc_list: null, bcc_list: null, reply_to_list: null, tags: null, headers: null };
  const unset = {
    topic_id: null,
    template_id: null,
    scheduled_at: null,
    search_text: 'hello',
    mail_from: null,
    asked: null,
    broadcast_id: null,
    automation_id: null,
    run_depth: null,
    contact_id: null,
    is_marketing: 0,
    is_bulk: 0,
    first_attempt_at: null,
    is_account_mail: 0,
    request_id: null,
  };
  const emails = Array.from({ length: count }, () => {
    const id = ids.uuid();
    const email = { id, ...row, ...more, ...none, ...unset, created_at: clock.now() };
    const body = { email_id: id, html: null, text: 'x', html_in_blob: 0, text_in_blob: 0, ...UNSHARED };
    return { email: { ...email, last_event: 'queued' as const }, body, attachments: [], contents: [] };
  });
  await db.tx((tx) => insertEmails(tx, emails));
  // Thousands of ids made in one millisecond reach into the next ones.
  scene.clock.advance(SECOND);
}

/** Returns the metrics that are not 0. */
async function totals(team: Team, query: Record<string, string> = {}): Promise<Record<string, number>> {
  const all = (await metrics(team, query)).totals as Record<string, number>;
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== 0));
}

describe('every metric of email', () => {
  it.each([
    ['delivered', { delivered: 1, delivery_rate: 100 }],
    ['bounced', { bounced: 1, bounced_permanent: 1, bounce_rate: 100 }],
    ['full', { bounced: 1, bounced_transient: 1, bounce_rate: 100 }],
    ['delayed', { delivery_delayed: 1, delivered: 1, delivery_rate: 100 }],
    ['complained', { delivered: 1, delivery_rate: 100, complained: 1, complaint_rate: 100 }],
    ['suppressed', { suppressed: 1 }],
    ['opened', { delivered: 1, delivery_rate: 100, opened: 1, unique_opened: 1, open_rate: 100 }],
    ['clicked', { delivered: 1, delivery_rate: 100, clicked: 1, unique_clicked: 1, click_rate: 100 }],
  ])('is right for %s@ of the simulator', async (local, expected) => {
    const team = await scene.team();
    const domain = await team.domain();
    const id = await send(team, domain.name, simulator(local));
    await scene.settled();
    scene.clock.advance(2 * SECOND);
    await scene.settled();
    const counted = { received: 1, sent: 1, ...expected };
    expect(await totals(team)).toEqual(counted);
    expect(await totals(team, { domain_id: domain.id })).toEqual(counted);
    expect(await totals(team, { email_id: id })).toEqual(counted);
  });

  it('counts a recipient suppressed by the team as not sent', async () => {
    const team = await scene.team();
    const domain = await team.domain();
    await scene.api('POST', '/suppressions', { key: team.key, body: { email: 'no@quiet.example' } });
    await send(team, domain.name, 'no@quiet.example');
    await scene.settled();
    expect(await totals(team)).toEqual({ received: 1, suppressed: 1 });
  });

  it('covers a bounce unrelated to the address, a failure, and scheduled mail', async () => {
    const team = await scene.team();
    const domain = await team.domain();
    const doomed = await team.domain();
    scene.dns.set('inside.example', 'MX', ['10 mx.inside.example']);
    scene.dns.set('mx.inside.example', 'A', ['10.1.2.3']);
    await send(team, domain.name, 'x@inside.example');
    await scene.settled();
    expect(await totals(team)).toEqual({ received: 1, sent: 1, bounced: 1, bounced_undetermined: 1, bounce_rate: 100 });
    const at = new Date(scene.clock.now() + HOUR).toISOString();
    await send(team, doomed.name, simulator('delivered'), { scheduled_at: at });
    expect(await totals(team, { domain_id: doomed.id })).toEqual({ received: 1 });
    await scene.api('DELETE', `/domains/${doomed.id}`, { key: team.key });
    scene.clock.advance(HOUR);
    await scene.settled();
    expect(await totals(team, { domain_id: doomed.id })).toEqual({ received: 1, sent: 1, failed: 1 });
    // Mail of a deleted domain still counts, and the row names the domain.
    const { data } = await metrics(team, { dimensions: 'domain', metrics: 'received' });
    expect(data).toEqual(
      [
        { domain_id: domain.id, domain_name: domain.name, received: 1 },
        { domain_id: doomed.id, received: 1 },
      ].sort((a, b) => (a.domain_id < b.domain_id ? -1 : 1)),
    );
  });

  it('counts emails, not recipients or destinations', async () => {
    const team = await scene.team();
    const domain = await team.domain();
    const id = await send(team, domain.name, [
      'a@one.example',
      'b@one.example',
      'c@two.example',
      simulator('bounced'),
      simulator('bounced+again'),
      simulator('full'),
    ]);
    await scene.settled();
    const once = { received: 1, sent: 1, delivered: 1, bounced: 1, bounced_permanent: 1, bounced_transient: 1 };
    expect(await totals(team)).toEqual({ ...once, delivery_rate: 100, bounce_rate: 100 });
    expect((await scene.account(team, id)).events.filter((type) => type === 'email.delivered')).toHaveLength(2);
    expect(await totals(team, { email_id: id })).toEqual(await totals(team));
  });

  it('counts an email once, even if a later destination is reached in another commit or after an error', async () => {
    const team = await scene.team();
    const domain = await team.domain();
    const id = await send(team, domain.name, ['a@one.example', simulator('delayed'), 'permfail@three.example']);
    await scene.settled();
    scene.clock.advance(2 * SECOND);
    await scene.settled();
    expect((await scene.account(team, id)).events.filter((type) => type === 'email.delivered')).toHaveLength(2);
    expect(await totals(team, { metrics: 'sent,delivered,delivery_delayed,bounced' })).toEqual({
      sent: 1,
      delivered: 1,
      delivery_delayed: 1,
      bounced: 1,
    });
  });
});

describe('the answer of GET /emails/metrics', () => {
  it('has all metrics as zeros for the last seven days without parameters', async () => {
    const team = await scene.team();
    const { api, clock } = scene;
    const { status, body } = await api('GET', '/emails/metrics', { key: team.key });
    expect(status).toBe(200);
    expect(Object.keys(body).sort()).toEqual(
      ['object', 'start_date', 'end_date', 'metrics', 'dimensions', 'granularity', 'totals'].sort(),
    );
    const now = clock.now();
    expect(body).toMatchObject({ object: 'metrics', dimensions: [], granularity: 'daily' });
    expect(body.end_date).toBe(new Date(now).toISOString());
    expect(body.start_date).toBe(new Date(Math.floor((now - 7 * DAY) / QUARTER) * QUARTER).toISOString());
    expect(body.metrics).toHaveLength(22);
    expect(body.totals).toEqual(Object.fromEntries(body.metrics.map((metric: string) => [metric, 0])));
  });

  it('has only the requested metrics, in that order, each once', async () => {
    const team = await scene.team();
    const body = await metrics(team, { metrics: 'open_rate,sent,open_rate' });
    expect(body.metrics).toEqual(['open_rate', 'sent']);
    expect(body.totals).toEqual({ open_rate: 0, sent: 0 });
  });

  it('has a row for each period, with zeros where nothing happened, and rows add up to the totals', async () => {
    const team = await scene.team();
    const domain = await team.domain();
    await send(team, domain.name, simulator('delivered'));
    await scene.settled();
    scene.clock.advance(2 * DAY);
    for (const local of ['delivered', 'bounced', 'delivered']) await send(team, domain.name, simulator(local));
    await scene.settled();
    const body = await metrics(team, { dimensions: 'period', metrics: 'sent,delivered,delivery_rate' });
    expect(body.totals).toEqual({ sent: 4, delivered: 3, delivery_rate: 75 });
    const formatDay = (before: number): string => new Date(scene.clock.now() - before * DAY).toISOString().slice(0, 10);
    const none = { sent: 0, delivered: 0, delivery_rate: 0 };
    expect(body.data).toEqual([
      ...[7, 6, 5, 4, 3].map((before) => ({ period: formatDay(before), ...none })),
      { period: formatDay(2), sent: 1, delivered: 1, delivery_rate: 100 },
      { period: formatDay(1), ...none },
      { period: formatDay(0), sent: 3, delivered: 2, delivery_rate: 66.67 },
    ]);
  });

  it('has rows by domain and by email, alone and by period', async () => {
    const team = await scene.team();
    const one = await team.domain();
    const two = await team.domain();
    const idle = await team.domain();
    const first = await send(team, one.name, simulator('delivered'));
    await scene.settled();
    scene.clock.advance(DAY);
    const second = await send(team, two.name, simulator('opened'));
    const third = await send(team, one.name, simulator('bounced'));
    await scene.settled();
    const today = new Date(scene.clock.now()).toISOString().slice(0, 10);
    const select = { metrics: 'sent,unique_opened' };
    const named = (domain: { id: string; name: string }) => ({ domain_id: domain.id, domain_name: domain.name });
    expect((await metrics(team, { ...select, dimensions: 'domain' })).data).toEqual([
      { ...named(one), sent: 2, unique_opened: 0 },
      { ...named(two), sent: 1, unique_opened: 1 },
    ]);
    const both = { ...select, dimensions: 'domain,period', start_date: today };
    expect((await metrics(team, both)).data).toEqual([
      { period: today, ...named(one), sent: 1, unique_opened: 0 },
      { period: today, ...named(two), sent: 1, unique_opened: 1 },
    ]);
    expect((await metrics(team, { ...select, dimensions: 'email' })).data).toEqual([
      { email_id: first, sent: 1, unique_opened: 0 },
      { email_id: second, sent: 1, unique_opened: 1 },
      { email_id: third, sent: 1, unique_opened: 0 },
    ]);
    const some = { ...select, dimensions: 'email,domain', email_id: `${second},${third}`, domain_id: two.id };
    expect(await metrics(team, some)).toMatchObject({
      totals: { sent: 1, unique_opened: 1 },
      data: [{ email_id: second, ...named(two), sent: 1, unique_opened: 1 }],
    });
    expect(await totals(team, { ...select, domain_id: `${one.id},${idle.id}` })).toEqual({ sent: 2 });
    expect((await metrics(team, { ...select, dimensions: 'domain', domain_id: idle.id })).data).toEqual([]);
    expect((await metrics(team, { ...select, dimensions: 'broadcast' })).data).toEqual([]);
  });
});

describe('email metrics by email beyond the row limit', () => {
  it('count those of the requested domains, and are refused only if these are too many', async () => {
    const team = await scene.team();
    const many = await team.domain();
    const few = await team.domain();
    const ids = [
      await send(team, few.name, simulator('delivered')),
      await send(team, few.name, simulator('delivered')),
    ];
    await scene.settled();
    await writeEmails(team, many.id, 1000);
    const byEmail = { dimensions: 'email', metrics: 'sent' };
    expect((await metrics(team, { ...byEmail, domain_id: few.id })).data).toEqual(
      ids.map((email_id) => ({ email_id, sent: 1 })),
    );
    expect((await metrics(team, { ...byEmail, domain_id: many.id })).data).toEqual([]);
    const fetchRefusal = async (query: Record<string, string>): Promise<string> => {
      const search = new URLSearchParams({ ...byEmail, ...query }).toString();
      const answer = await scene.api('GET', `/emails/metrics?${search}`, { key: team.key });
      expect(answer).toMatchObject({ status: 422, body: { name: 'invalid_parameter' } });
      return answer.body.message as string;
    };
    expect(await fetchRefusal({})).toMatch(/at most 1000 emails may/);
    expect(await fetchRefusal({ domain_id: `${few.id},${many.id}` })).toMatch(/at most 1000 emails of the domains/);
    for (let written = 1002; written < 20_000; written += 1000) {
      await writeEmails(team, many.id, Math.min(1000, 20_000 - written));
    }
    expect((await metrics(team, { ...byEmail, domain_id: few.id })).data).toHaveLength(2);
    await writeEmails(team, many.id, 1);
    expect(await fetchRefusal({ domain_id: few.id })).toMatch(/at most 20000 emails of any domain/);
  });
});

describe('metrics of two teams', () => {
  it('are separate: a foreign id counts as an unknown one', async () => {
    const team = await scene.team();
    const other = await scene.team();
    const domain = await other.domain();
    const id = await send(other, domain.name, simulator('delivered'));
    await scene.settled();
    expect(await totals(team)).toEqual({});
    const nobody = '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77';
    for (const [name, foreign] of [
      ['domain_id', domain.id],
      ['email_id', id],
      ['broadcast_id', id],
    ] as const) {
      for (const dimensions of ['period', 'domain', name === 'broadcast_id' ? 'broadcast' : 'email']) {
        const asked = { dimensions, start_date: new Date(scene.clock.now()).toISOString() };
        const theirs = await metrics(team, { ...asked, [name]: foreign });
        expect(theirs, `${name} ${dimensions}`).toEqual(await metrics(team, { ...asked, [name]: nobody }));
        expect(theirs.totals.sent).toBe(0);
      }
    }
    expect(await totals(other, { email_id: id.toUpperCase() })).toMatchObject({ sent: 1 });
  });

  it('cannot be read with a sending key', async () => {
    const team = await scene.team();
    const answer = await scene.api('GET', '/emails/metrics', { key: await team.sendingKey() });
    expect(answer).toMatchObject({ status: 401, body: { name: 'restricted_api_key' } });
  });

  it('do not shadow an email whose id is requested', async () => {
    const team = await scene.team();
    const id = await send(team, (await team.domain()).name, simulator('delivered'));
    expect((await scene.api('GET', `/emails/${id}`, { key: team.key })).body.id).toBe(id);
  });
});
