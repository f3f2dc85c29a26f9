import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildForm } from '../../rig/forms.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';
import { follow, letReadingsSettle, publishTracking, sendHtml } from '../../flow/reader.ts';
import { recordHistory } from '../../../src/features/audience/index.ts';
import { createRemoval } from '../../../src/features/installation/upkeep/remove-expired.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ config: { tracking: { scheme: 'http' } } });
});
afterAll(() => scene.close());

interface Entry {
  id: string;
  kind: string;
  type: string;
  [field: string]: unknown;
}

/** A team with a domain, and calls with its key. */
async function createSender() {
  const team = await scene.team();
  const domain = await team.domain();
  const call = async (method: string, path: string, body?: unknown) => {
    const answer = await scene.api(method, path, { key: team.key, ...(body === undefined ? {} : { body }) });
    expect(answer.status, answer.text).toBeLessThan(300);
    return answer.body;
  };
  const send = async (to: string | string[], subject: string): Promise<string> => {
    scene.clock.advance(1000);
    const html = '<p><a href="https://example.org/x">x</a></p>';
    const { id } = await call('POST', '/emails', { from: `a@${domain.name}`, to, subject, html });
    await scene.settled();
    return id;
  };
  const activity = async (contact: string, query = ''): Promise<Entry[]> =>
    (await call('GET', `/contacts/${contact}/activity?limit=100${query}`)).data;
  return { team, domain, call, send, activity };
}

const simulated = (kind: string): string => `${kind}@simulator.${scene.app.world.config.instance.host}`;
const types = (entries: readonly Entry[]): string[] => entries.map(({ type }) => type);

async function importFile(team: Team, csv: string, options: Record<string, unknown> = {}): Promise<string> {
  const { body } = await scene.api('POST', '/contacts/imports', { key: team.key, ...buildForm(csv, options) });
  await scene.settled();
  return body.id;
}

describe('GET /contacts/{contact}/activity', () => {
  it('the activity of a contact lists emails, opens, clicks, topics and consent, newest first', async () => {
    const { call, send, activity } = await createSender();
    const email = simulated('clicked');
    const topic = (await call('POST', '/topics', { name: 'News', default_subscription: 'opt_in' })).id;
    const { id } = await call('POST', '/contacts', { email });
    const sent = await send(`Somebody <${email.toUpperCase()}>`, 'For you');
    await send('other@example.org', 'For somebody else');
    scene.clock.advance(1000);
    await call('PATCH', `/contacts/${id}/topics`, { topics: [{ id: topic, subscription: 'opt_out' }] });
    scene.clock.advance(1000);
    await call('PATCH', `/contacts/${id}`, { unsubscribed: true });
    const entries = await activity(email);
    expect(types(entries).slice(0, 3)).toEqual(['contact_updated', 'unsubscribed', 'topic_opt_out']);
    expect(types(entries).slice(-2)).toEqual(['email', 'contact_created']);
    expect(types(entries)).toEqual(expect.arrayContaining(['email_delivered', 'email_clicked']));
    expect(entries.at(-2)).toMatchObject({ id: sent, email_id: sent, subject: 'For you', source: null });
    const byKey = { kind: 'api_key', name: expect.any(String) };
    expect(entries[1]).toMatchObject({ email_id: null, source: 'api', topic_id: null, actor: byKey });
    expect(entries[2]).toMatchObject({ topic_id: topic, actor: byKey });
    expect(entries.find(({ type }) => type === 'email_clicked')).toMatchObject({
      kind: 'click',
      subject: 'For you',
      link: 'https://example.com/',
    });
  });

  it('a bounce, the suppression that follows and its end are listed, and the contact says that it is suppressed', async () => {
    const { call, send, activity } = await createSender();
    const email = 'permfail@example.org';
    const { id } = await call('POST', '/contacts', { email });
    expect(await call('GET', `/contacts/${id}`)).toMatchObject({ unsubscribed: false, suppression: null });
    const sent = await send(email, 'Too late');
    const suppression = { origin: 'bounce', source_id: sent, id: expect.stringMatching(/^sup_/) };
    expect(await call('GET', `/contacts/${id}`)).toMatchObject({ unsubscribed: false, suppression });
    expect((await call('GET', '/contacts')).data).toMatchObject([{ id, suppression }]);
    expect(types(await activity(email, '&kind=bounce,suppression'))).toEqual(['suppression_added', 'email_bounced']);
    const [added, bounced] = await activity(email, '&kind=bounce,suppression');
    expect(bounced).toMatchObject({
      email_id: sent,
      subject: 'Too late',
      reason: expect.stringMatching(/^Permanent: ./),
    });
    scene.clock.advance(1000);
    await call('DELETE', `/suppressions/${email}`);
    const after = await activity(email, '&kind=suppression');
    expect(types(after)).toEqual(['suppression_removed', 'suppression_added']);
    expect(after[1]).toEqual(added);
    expect(after[0]).toMatchObject({ origin: 'bounce', email_id: sent });
    expect(await call('GET', `/contacts/${id}`)).toMatchObject({ suppression: null });
  });

  it('a complaint is listed', async () => {
    const { call, send, activity } = await createSender();
    const email = simulated('complained');
    const { id } = await call('POST', '/contacts', { email });
    await send(email, 'Buy');
    expect(await activity(id, '&kind=complaint')).toMatchObject([{ type: 'email_complained', subject: 'Buy' }]);
  });

  it('an outcome of another recipient of the same email is not listed', async () => {
    const { call, send, activity } = await createSender();
    const email = 'fine@example.org';
    await call('POST', '/contacts', { email });
    await send([email, 'permfail@example.net'], 'For two');
    expect(types(await activity(email, '&kind=mail,bounce'))).toEqual(['email_delivered', 'email']);
  });

  it('opens and clicks by machines are listed apart from those by people', async () => {
    const { team, domain, call, activity } = await createSender();
    const email = 'reader@example.org';
    await call('POST', '/contacts', { email });
    await publishTracking(scene, team, domain.id, { open_tracking: true, click_tracking: true });
    const html = '<html><body><a href="https://example.com/">x</a></body></html>';
    const { pixel = '', links } = await sendHtml(scene, team, domain, { to: email, html });
    await follow(scene.url, pixel, { headers: { 'user-agent': 'curl/8.5.0' } });
    await follow(scene.url, links[0] ?? '', { headers: { 'user-agent': 'curl/8.5.0' } });
    await letReadingsSettle(scene);
    expect(types(await activity(email, '&kind=open,click'))).toEqual([]);
    const machines = types(await activity(email, '&kind=machine'));
    expect(machines.toSorted()).toEqual(['email_machine_clicked', 'email_machine_opened']);
    await follow(scene.url, pixel);
    await letReadingsSettle(scene);
    expect(types(await activity(email, '&kind=open,click'))).toEqual(['email_opened']);
    expect(await activity(email, '&kind=machine')).toHaveLength(2);
  });

  it('imports are listed that created or changed a contact, and those that changed nothing are not', async () => {
    const { team, activity } = await createSender();
    const created = await importFile(team, 'email,first_name\nada@example.org,Ada\n');
    scene.clock.advance(1000);
    const upsert = { on_conflict: 'upsert' };
    await importFile(team, 'email,first_name\nada@example.org,Ada\n', upsert);
    scene.clock.advance(1000);
    const changed = await importFile(team, 'email,last_name,unsubscribed\nada@example.org,Lovelace,true\n', upsert);
    const entries = await activity('ada@example.org');
    expect(types(entries).toSorted()).toEqual(['import_created', 'import_updated', 'unsubscribed']);
    expect(await activity('ada@example.org', '&kind=import')).toMatchObject([
      { type: 'import_updated', import_id: changed },
      { type: 'import_created', import_id: created },
    ]);
    expect(entries.find(({ type }) => type === 'unsubscribed')).toMatchObject({
      source: 'import',
      import_id: changed,
      actor: { kind: 'import', id: changed },
    });
  });

  it('custom events are listed with their payload, and a large payload is left out', async () => {
    const { call, activity } = await createSender();
    await call('POST', '/contacts', { email: 'ada@example.org' });
    await call('POST', '/events', { name: 'order.placed' });
    const sendEvent = (payload: object) =>
      call('POST', '/events/send', { event: 'order.placed', email: 'ada@example.org', payload });
    await sendEvent({ total: 12 });
    scene.clock.advance(1000);
    await sendEvent({ total: 'x'.repeat(5000) });
    expect(await activity('ada@example.org', '&kind=event')).toMatchObject([
      { type: 'event_received', name: 'order.placed', payload: null },
      { type: 'event_received', name: 'order.placed', payload: { total: 12 } },
    ]);
  });

  it('runs of automations are listed with their begin and end, and decisions name the automation', async () => {
    const { call, activity } = await createSender();
    const { id } = await call('POST', '/contacts', { email: 'ada@example.org' });
    await call('POST', '/events', { name: 'leave' });
    const automation = await call('POST', '/automations', {
      name: 'Leave all',
      status: 'enabled',
      steps: [
        { key: 'start', type: 'trigger', config: { event_name: 'leave' } },
        { key: 'out', type: 'contact_update', config: { unsubscribed: true } },
      ],
      connections: [{ from: 'start', to: 'out' }],
    });
    await call('POST', '/events/send', { event: 'leave', contact_id: id });
    scene.clock.advance(1000);
    await scene.settled();
    const runs = (await call('GET', `/automations/${automation.id}/runs`)).data;
    const named = { automation_id: automation.id, run_id: runs[0].id, name: 'Leave all' };
    expect(await activity(id, '&kind=run')).toMatchObject([
      { type: 'run_ended', status: 'completed', ...named },
      { type: 'run_started', id: runs[0].id, ...named },
    ]);
    expect(await activity(id, '&kind=consent')).toMatchObject([
      { type: 'unsubscribed', actor: { kind: 'automation', id: automation.id, name: 'Leave all' } },
    ]);
  });

  it('a request to confirm a topic is listed until the contact has answered', async () => {
    const { call, domain, activity } = await createSender();
    const body = {
      name: 'Ask',
      html: '{{{CONFIRMATION_URL}}}',
      from: `a@${domain.name}`,
      subject: 'Well?',
      variables: [{ key: 'CONFIRMATION_URL', type: 'string' }],
    };
    const template = (await call('POST', '/templates', body)).id;
    await call('POST', `/templates/${template}/publish`);
    const topic = (await call('POST', '/topics', { name: 'News', default_subscription: 'opt_out' })).id;
    await call('PATCH', `/topics/${topic}`, { confirmation: 'required', confirmation_template_id: template });
    await call('POST', '/contacts', { email: 'ada@example.org', topics: [{ id: topic, subscription: 'opt_in' }] });
    await scene.settled();
    expect(await activity('ada@example.org', '&kind=consent')).toMatchObject([
      { type: 'confirmation_asked', topic_id: topic, reason: null },
    ]);
  });

  it('pages forwards and backwards return each entry once and in order', async () => {
    const { call, send, activity } = await createSender();
    const email = simulated('clicked');
    await call('POST', '/contacts', { email });
    await call('POST', '/events', { name: 'visit' });
    for (let n = 0; n < 4; n++) {
      await send(email, `Number ${n}`);
      await call('POST', '/events/send', { event: 'visit', email });
      await call('PATCH', `/contacts/${email}`, { first_name: `Ada ${n}` });
      await call('POST', '/suppressions', { email });
      scene.clock.advance(1000);
      await call('DELETE', `/suppressions/${email}`);
    }
    const all = (await activity(email)).map(({ id }) => id);
    expect(all.length).toBeGreaterThan(25);
    expect(all).toEqual(all.toSorted().toReversed());
    const forwards: string[] = [];
    for (let after = ''; ;) {
      const page = await call('GET', `/contacts/${email}/activity?limit=4${after}`);
      forwards.push(...page.data.map(({ id }: Entry) => id));
      if (!page.has_more) break;
      after = `&after=${forwards.at(-1)}`;
    }
    expect(forwards).toEqual(all);
    let backwards: string[] = [];
    for (let before = all.at(-1) ?? ''; ;) {
      const page = await call('GET', `/contacts/${email}/activity?limit=4&before=${before}`);
      backwards = [...page.data.map(({ id }: Entry) => id), ...backwards];
      if (!page.has_more) break;
      before = backwards[0] ?? '';
    }
    expect(backwards).toEqual(all.slice(0, -1));
  });

  it('an unknown kind is refused with the list of kinds', async () => {
    const { team, call } = await createSender();
    await call('POST', '/contacts', { email: 'ada@example.org' });
    const { status, body } = await scene.api('GET', '/contacts/ada@example.org/activity?kind=opens', { key: team.key });
    expect([status, body.name]).toEqual([422, 'invalid_parameter']);
    expect(body.message).toContain('kind must be one or several of mail, bounce');
  });

  it('at most a hundred custom events of a contact are kept, and none after the retention of the plan', async () => {
    const { team, call, activity } = await createSender();
    const { world } = scene.app;
    await call('POST', '/contacts', { email: 'busy@example.org' });
    await call('POST', '/events', { name: 'visit' });
    const visit = (n: number) =>
      call('POST', '/events/send', { event: 'visit', email: 'busy@example.org', payload: { n } });
    await visit(0);
    const [{ contact_id: contactId } = { contact_id: '' }] = await world.db.all<{ contact_id: string }>(
      'select contact_id from contact_history where team_id = ?',
      [team.id],
    );
    const many = Array.from({ length: 99 }, () => ({
      contactId,
      id: world.ids.uuid(),
      teamId: team.id,
      data: { name: 'visit', payload: null },
    }));
    await world.db.tx((tx) => recordHistory(tx, 'event', many));
    expect((await activity('busy@example.org', '&kind=event')).at(-1)).toMatchObject({ payload: { n: 0 } });
    await visit(100);
    const kept = await activity('busy@example.org', '&kind=event');
    expect(kept).toHaveLength(100);
    expect([kept[0]?.payload, kept.at(-1)?.payload]).toEqual([{ n: 100 }, null]);
    expect(await world.db.all('select id from contact_history where team_id = ?', [team.id])).toHaveLength(100);
    scene.clock.advance(31 * 24 * 3_600_000);
    await createRemoval(world)();
    expect(await world.db.all('select id from contact_history where team_id = ?', [team.id])).toEqual([]);
  });

  it('the history of a contact is erased with the contact', async () => {
    const { team, call } = await createSender();
    await call('POST', '/contacts', { email: 'ada@example.org' });
    await call('POST', '/events', { name: 'visit' });
    await call('POST', '/events/send', { event: 'visit', email: 'ada@example.org' });
    await call('DELETE', '/contacts/ada@example.org');
    const { db } = scene.app.world;
    expect(await db.all('select id from contact_history where team_id = ?', [team.id])).toEqual([]);
  });
});
