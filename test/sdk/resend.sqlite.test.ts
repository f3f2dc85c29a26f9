import { Resend } from 'resend';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi, type MockInstance } from 'vitest';
import { createInbox } from '../rig/inboxes.ts';
import { createOauth } from '../rig/oauth.ts';
import { createReceivingDomain } from '../rig/mx.ts';
import { createPeople } from '../rig/people.ts';
import { receiveMail } from '../rig/received-mail.ts';
import { publish, startScene, type Scene, type Team } from '../rig/scene.ts';

type Answer<T> = { data: T | null; error: { name: string; statusCode: number | null; message: string } | null };

/** The data of a call that must have succeeded. */
async function ok<T>(call: PromiseLike<Answer<T>>): Promise<T> {
  const { data, error } = await call;
  expect(error).toBeNull();
  if (data === null) throw new Error('an answer without an error has data');
  return data;
}

const FILE = { filename: 'note.txt', content: Buffer.from('a note'), contentType: 'text/plain' };

const isFamily = (value: unknown): value is object => typeof value === 'object' && value !== null && 'resend' in value;

/** The methods that families call themselves, and that ask the server nothing. */
const INNER: ReadonlySet<string> = new Set([
  'templates.performCreate',
  'contacts.imports.buildCreateFormData',
  'contacts.imports.buildColumnMap',
  'contacts.imports.appendField',
]);

describe('the official resend client', () => {
  let scene: Scene;
  let team: Team;
  let domain: { id: string; name: string };
  let resend: Resend;
  const spies = new Map<string, MockInstance>();
  const succeeded = new Set<string>();

  beforeAll(async () => {
    scene = await startScene();
    team = await scene.team();
    domain = await team.domain();
    vi.stubEnv('RESEND_BASE_URL', scene.url);
    resend = new Resend(team.key);
    // Every method is watched, so that one that a new version adds is asked for here; webhooks have a file of their own.
    for (const [name, family] of Object.entries(resend)) {
      if (isFamily(family) && name !== 'webhooks') watch(name, family);
    }
  });
  // The calls that a spy has seen are forgotten before the next test.
  afterEach(async () => {
    for (const [name, spy] of spies) {
      for (const { value } of spy.mock.results) {
        if (((await value) as Answer<unknown>).error === null) succeeded.add(name);
      }
    }
  });
  afterAll(async () => {
    vi.unstubAllEnvs();
    await scene.close();
  });

  /** Every public method of a family and of the families inside it, watched and otherwise as it is. */
  function watch(name: string, family: object): void {
    for (const [key, value] of Object.entries(family)) {
      const inner = `${name}.${key}`;
      if (key !== 'resend' && typeof value === 'object') watch(inner, value as object);
    }
    for (const method of Object.getOwnPropertyNames(Object.getPrototypeOf(family))) {
      if (method === 'constructor' || INNER.has(`${name}.${method}`)) continue;
      spies.set(`${name}.${method}`, vi.spyOn(family as Record<string, () => unknown>, method));
    }
  }

  const message = (more: object = {}) => ({
    from: `Sender <a@${domain.name}>`,
    to: ['x@example.org'],
    subject: 'Hello',
    text: 'It works.',
    ...more,
  });
  const inAnHour = (): string => new Date(scene.clock.now() + 3_600_000).toISOString();

  it('sends, reads and lists emails', async () => {
    const { id } = await ok(
      resend.emails.send(
        message({
          html: '<p>It works. <img src="cid:logo"></p>',
          cc: 'c@example.org',
          bcc: ['b@example.org'],
          replyTo: 'answers@example.com',
          headers: { 'X-Order': '7' },
          tags: [{ name: 'kind', value: 'receipt' }],
          attachments: [
            { filename: 'buffer.txt', content: Buffer.from('from a Buffer') },
            { filename: 'bytes.txt', content: new Uint8Array([104, 105]) },
            { filename: 'text.txt', content: Buffer.from('base64').toString('base64'), contentType: 'text/plain' },
            { filename: 'logo.png', content: Buffer.from([137, 80]), contentId: 'logo' },
          ],
        }),
      ),
    );
    await scene.settled();
    expect(await ok(resend.emails.get(id))).toMatchObject({
      object: 'email',
      id,
      to: ['x@example.org'],
      cc: ['c@example.org'],
      bcc: ['b@example.org'],
      reply_to: ['answers@example.com'],
      last_event: 'delivered',
      tags: [{ name: 'kind', value: 'receipt' }],
      scheduled_at: null,
    });
    expect((await ok(resend.emails.list({ limit: 1 }))).data[0]).toMatchObject({ id, subject: 'Hello' });
    const { id: created } = await ok(resend.emails.create(message()));
    expect((await ok(resend.emails.list({ limit: 10, after: created }))).data.map((one) => one.id)).toContain(id);
  });

  it('reads attachments and follows their link', async () => {
    const attachments = [{ filename: 'file.txt', content: Buffer.from('the file') }];
    const { id: emailId } = await ok(resend.emails.send(message({ attachments })));
    const list = await ok(resend.emails.attachments.list({ emailId }));
    expect(list.data).toMatchObject([{ filename: 'file.txt', content_type: 'text/plain', size: 8 }]);
    const one = await ok(resend.emails.attachments.get({ emailId, id: list.data[0]?.id ?? '' }));
    expect(one).toMatchObject({ object: 'attachment', filename: 'file.txt' });
    expect(await (await fetch(one.download_url)).text()).toBe('the file');
  });

  it('reads and forwards received mail', async () => {
    const id = await receiveMail(scene, team);
    expect((await ok(resend.emails.receiving.list({ limit: 5 }))).data).toMatchObject([
      { id, subject: 'A question', to: ['Support <support@example.com>'] },
    ]);
    expect(await ok(resend.emails.receiving.get(id, { html_format: 'cid' }))).toMatchObject({
      object: 'email',
      id,
      text: 'Does it work?\n',
      received_for: ['support@example.com'],
    });
    const { data } = await ok(resend.emails.receiving.attachments.list({ emailId: id }));
    expect(data).toMatchObject([{ filename: 'dot.png', content_type: 'image/png', size: 4 }]);
    const one = await ok(resend.emails.receiving.attachments.get({ emailId: id, id: data[0]?.id ?? '' }));
    expect((await (await fetch(one.download_url)).arrayBuffer()).byteLength).toBe(4);
    const forward = { emailId: id, to: 'x@example.org', from: `a@${domain.name}` };
    const { id: forwarded } = await ok(resend.emails.receiving.forward(forward));
    expect(await ok(resend.emails.get(forwarded))).toMatchObject({ subject: 'A question', text: 'Does it work?\n' });
    const around = { ...forward, passthrough: false as const, text: 'See below.' };
    const { id: wrapped } = await ok(resend.emails.receiving.forward(around));
    const files = await ok(resend.emails.attachments.list({ emailId: wrapped }));
    expect(files.data).toMatchObject([{ filename: 'forwarded_message.eml', content_type: 'message/rfc822' }]);
  });

  it('reschedules, cancels and shares emails', async () => {
    const { id } = await ok(resend.emails.send(message({ scheduledAt: inAnHour() })));
    const scheduledAt = new Date(scene.clock.now() + 7_200_000).toISOString();
    expect(await ok(resend.emails.update({ id, scheduledAt }))).toEqual({ object: 'email', id });
    expect((await ok(resend.emails.get(id))).scheduled_at).toBe(scheduledAt);
    expect(await ok(resend.emails.cancel(id))).toEqual({ object: 'email', id });
    expect((await resend.emails.cancel(id)).error).toMatchObject({ name: 'resource_locked', statusCode: 409 });
    const shared = await ok(resend.emails.share(id, { expiresIn: '2 hours' }));
    expect(shared).toMatchObject({ object: 'email', id });
    expect(await (await fetch(shared.url)).text()).toContain('Hello');
    expect((await ok(resend.emails.share(id))).url).not.toBe(shared.url);
  });

  it('gets the same response under the same idempotency key', async () => {
    const first = await ok(resend.emails.send(message(), { idempotencyKey: 'receipt-1' }));
    expect(await ok(resend.emails.send(message(), { idempotencyKey: 'receipt-1' }))).toEqual(first);
    const { error } = await resend.emails.send(message({ subject: 'Other' }), { idempotencyKey: 'receipt-1' });
    expect(error).toMatchObject({ name: 'invalid_idempotent_request', statusCode: 409 });
  });

  it('sends batches, strict and permissive, with attachments', async () => {
    const attachments = [{ filename: 'file.txt', content: Buffer.from('the file') }];
    const strict = await ok(resend.batch.send([message({ attachments }), message()]));
    expect(strict.data).toHaveLength(2);
    expect((await ok(resend.emails.attachments.list({ emailId: strict.data[0]?.id ?? '' }))).data).toHaveLength(1);
    const mixed = [message(), message({ from: 'a@nobody.example.com' })];
    expect((await resend.batch.create(mixed)).error).toMatchObject({ name: 'validation_error', statusCode: 403 });
    const permissive = await ok(resend.batch.create(mixed, { batchValidation: 'permissive', idempotencyKey: 'p' }));
    expect(permissive.data).toHaveLength(1);
    expect(permissive.errors).toMatchObject([{ index: 1 }]);
  });

  it('manages templates and sends with them', async () => {
    const made = await resend.templates
      .create({
        name: 'Welcome',
        alias: 'welcome',
        subject: 'Hello {{{NAME}}}',
        from: `Sender <a@${domain.name}>`,
        replyTo: ['answers@example.com'],
        html: '<p>Hello {{{NAME}}}, you are {{{AGE}}}.</p>',
        variables: [
          { key: 'NAME', type: 'string', fallbackValue: 'you' },
          { key: 'AGE', type: 'number', fallbackValue: 7 },
        ],
      })
      .publish();
    const { id } = await ok(Promise.resolve(made));
    const template = { id: 'welcome', variables: { NAME: 'A & B' } };
    const sent = await ok(resend.emails.send({ to: 'x@example.org', template } as never));
    expect(await ok(resend.emails.get(sent.id))).toMatchObject({
      subject: 'Hello A & B',
      html: '<p>Hello A &amp; B, you are 7.</p>',
      reply_to: ['answers@example.com'],
    });
    await ok(resend.templates.update('welcome', { html: '<p>Changed.</p>' }));
    expect(await ok(resend.templates.get(id))).toMatchObject({
      object: 'template',
      alias: 'welcome',
      status: 'published',
      has_unpublished_versions: true,
      variables: [
        { key: 'NAME', type: 'string', fallback_value: 'you' },
        { key: 'AGE', type: 'number', fallback_value: 7 },
      ],
    });
    expect(await ok(resend.templates.publish(id))).toMatchObject({ object: 'template', id });
    const copy = await ok(resend.templates.duplicate(id));
    expect((await ok(resend.templates.list())).data.map((one) => one.id)).toEqual([copy.id, id]);
    expect(await ok(resend.templates.remove(copy.id))).toEqual({ object: 'template', id: copy.id, deleted: true });
  });

  it('registers, verifies, changes and removes domains', async () => {
    const created = await ok(
      resend.domains.create({
        name: 'sdk.example.com',
        region: 'eu-west-1',
        customReturnPath: 'back',
        tls: 'enforced',
      }),
    );
    expect(created).toMatchObject({ name: 'sdk.example.com', status: 'not_started', region: 'eu-west-1' });
    publish(scene.dns, (await ok(resend.domains.get(created.id))) as never);
    expect(await ok(resend.domains.verify(created.id))).toMatchObject({ object: 'domain', id: created.id });
    expect((await ok(resend.domains.get(created.id))).status).toBe('verified');
    const changed = await ok(resend.domains.update({ id: created.id, clickTracking: true, openTracking: true }));
    expect(changed).toMatchObject({ object: 'domain', id: created.id });
    expect((await ok(resend.domains.list())).data.map((one) => one.name)).toContain('sdk.example.com');
    expect(await ok(resend.domains.remove(created.id))).toMatchObject({ id: created.id, deleted: true });
  });

  it('claims a domain that another team has verified', async () => {
    const owner = await scene.team();
    const { name } = await owner.domain();
    const claim = await ok(resend.domains.claims.create({ name, region: 'eu-west-1', customReturnPath: 'back' }));
    expect(claim).toMatchObject({ object: 'domain_claim', name, status: 'pending', blocked_reason: null });
    expect(await ok(resend.domains.claims.create({ name }))).toEqual(claim);
    scene.dns.set(claim.record.name, claim.record.type, [claim.record.value]);
    const blocked = await ok(resend.domains.claims.verify(claim.domain_id ?? ''));
    expect(blocked).toMatchObject({ id: claim.id, status: 'pending', blocked_reason: 'grace_period' });
    scene.clock.advance(72 * 3_600_000);
    expect((await ok(resend.domains.claims.verify(claim.domain_id ?? ''))).status).toBe('completed');
    const done = await ok(resend.domains.claims.get(claim.domain_id ?? ''));
    expect(done).toMatchObject({ status: 'completed', blocked_reason: null, failure_reason: null });
    await ok(resend.domains.remove(claim.domain_id ?? ''));
  });

  it('issues, renames and revokes API keys', async () => {
    const key = await ok(
      resend.apiKeys.create({ name: 'Sending', permission: 'sending_access', domain_id: domain.id }),
    );
    expect(key.token).toMatch(/^rk_/);
    const sending = new Resend(key.token);
    expect((await sending.emails.send(message())).error).toBeNull();
    expect((await sending.emails.list()).error).toMatchObject({ name: 'restricted_api_key', statusCode: 401 });
    await ok(resend.apiKeys.update(key.id, { name: 'Renamed' }));
    expect((await ok(resend.apiKeys.list())).data.find((one) => one.id === key.id)).toMatchObject({ name: 'Renamed' });
    await ok(resend.apiKeys.remove(key.id));
    expect((await sending.emails.send(message())).error).toMatchObject({ name: 'restricted_api_key', statusCode: 403 });
  });

  it('adds and removes suppressions', async () => {
    const email = 'gone+label@example.org';
    const { id } = await ok(resend.suppressions.add({ email }));
    expect(await ok(resend.suppressions.get(email))).toMatchObject({
      object: 'suppression',
      id,
      email,
      origin: 'manual',
    });
    expect((await ok(resend.suppressions.list({ origin: 'manual' }))).data).toMatchObject([{ email }]);
    expect(await ok(resend.suppressions.remove(id))).toEqual({ object: 'suppression', id, deleted: true });
    await ok(resend.suppressions.batch.add({ emails: ['one@example.org', 'two@example.org'] }));
    await ok(resend.suppressions.batch.remove({ emails: ['one@example.org', 'two@example.org'] }));
    expect((await ok(resend.suppressions.list())).data).toEqual([]);
  });

  it('writes broadcasts, sends them, and reads their reports', async () => {
    await scene.api('PATCH', '/team', {
      key: team.key,
      body: { sender_name: 'E', postal_address: { line1: 'Street 1', city: 'Berlin', country: 'DE' } },
    });
    const segment = await ok(resend.segments.create({ name: 'Subscribers' }));
    const draft = {
      name: 'News',
      segmentId: segment.id,
      from: `News <news@${domain.name}>`,
      subject: 'Hello',
      previewText: 'P',
      html: '<p>Hello {{{FIRST_NAME|friend}}}</p>',
      replyTo: [`answers@${domain.name}`],
      topicId: null,
    };
    const { id } = await ok(resend.broadcasts.create(draft as never));
    expect(await ok(resend.broadcasts.get(id))).toMatchObject({
      object: 'broadcast',
      id,
      name: 'News',
      segment_id: segment.id,
      from: draft.from,
      preview_text: 'P',
      reply_to: draft.replyTo,
      html: draft.html,
      topic_id: null,
      status: 'draft',
    });
    expect(await ok(resend.broadcasts.update(id, { subject: 'Hello again' }))).toMatchObject({ id });
    expect((await ok(resend.broadcasts.list({ limit: 5 }))).data).toMatchObject([{ id, status: 'draft' }]);
    const copy = await ok(resend.broadcasts.duplicate(id));
    expect(await ok(resend.broadcasts.remove(copy.id))).toEqual({ object: 'broadcast', id: copy.id, deleted: true });
    expect(await ok(resend.broadcasts.send(id, { scheduledAt: 'in 2 hours' }))).toEqual({ id });
    expect(await ok(resend.broadcasts.get(id))).toMatchObject({ status: 'scheduled', subject: 'Hello again' });
    expect(await ok(resend.broadcasts.cancel(id))).toEqual({ object: 'broadcast', id });
    expect((await resend.broadcasts.cancel(id)).error).toMatchObject({ statusCode: 403, name: 'validation_error' });
    const nobody = { object: 'list', has_more: false, data: [] };
    expect(await ok(resend.broadcasts.recipients(id, { type: 'bounced', bounceType: 'permanent' } as never))).toEqual(
      nobody,
    );
    expect(await ok(resend.broadcasts.clickedLinks(id))).toEqual(nobody);
    const sent = await ok(resend.broadcasts.create({ ...draft, send: true, scheduledAt: 'in 1 hour' } as never));
    expect((await ok(resend.broadcasts.get(sent.id))).status).toBe('scheduled');
  });

  it('declares events, sends them, and starts automations with them', async () => {
    const event = await ok(resend.events.create({ name: 'order.placed', schema: { total: 'number' } }));
    expect(await ok(resend.events.get('order.placed'))).toMatchObject({ object: 'event', id: event.id });
    expect(await ok(resend.events.update(event.id, { schema: null }))).toEqual({ object: 'event', id: event.id });
    expect((await ok(resend.events.list({ limit: 5 }))).data).toMatchObject([{ name: 'order.placed', schema: null }]);
    const segment = await ok(resend.segments.create({ name: 'Buyers' }));
    const graph = {
      steps: [
        { key: 'start', type: 'trigger' as const, config: { eventName: 'order.placed' } },
        {
          key: 'knows',
          type: 'condition' as const,
          config: { type: 'rule' as const, field: 'first_name', operator: 'exists' as const },
        },
        { key: 'wait', type: 'delay' as const, config: { duration: '3 days' } },
        { key: 'add', type: 'add_to_segment' as const, config: { segmentId: segment.id } },
        { key: 'name', type: 'contact_update' as const, config: { firstName: 'Friend' } },
      ],
      connections: [
        { from: 'start', to: 'wait' },
        { from: 'wait', to: 'knows' },
        { from: 'knows', to: 'add', type: 'condition_met' as const },
        { from: 'knows', to: 'name', type: 'condition_not_met' as const },
      ],
    };
    const { id } = await ok(resend.automations.create({ name: 'Buyers', status: 'enabled', ...graph }));
    expect(await ok(resend.automations.get(id))).toMatchObject({
      object: 'automation',
      id,
      name: 'Buyers',
      status: 'enabled',
      steps: [{ config: { event_name: 'order.placed' } }, { key: 'knows' }, { key: 'wait' }, { key: 'add' }, {}],
    });
    const contact = await ok(resend.contacts.create({ email: 'buyer@example.org' }));
    const sent = { event: 'order.placed', payload: { total: 40 } };
    expect(await ok(resend.events.send({ ...sent, contactId: contact.id }))).toEqual({
      object: 'event',
      event: 'order.placed',
    });
    await ok(resend.events.send({ ...sent, email: 'buyer@example.org' }));
    const runs = await ok(resend.automations.runs.list({ automationId: id, status: ['running', 'failed'], limit: 5 }));
    expect(runs.data).toMatchObject([{ status: 'running' }, { status: 'running' }]);
    const runId = runs.data[0]?.id ?? '';
    expect((await ok(resend.automations.runs.get({ automationId: id, runId }))).steps.map(({ key }) => key)).toEqual([
      'start',
      'wait',
      'knows',
      'add',
      'name',
    ]);
    const copy = await ok(resend.automations.duplicate(id));
    expect(await ok(resend.automations.update(copy.id, { name: 'Others', ...graph }))).toMatchObject({ id: copy.id });
    expect((await ok(resend.automations.list({ status: 'disabled' }))).data).toMatchObject([{ name: 'Others' }]);
    // The client knows no step that opts into a topic, and sends null in its place.
    const unknown = [{ key: 'start', type: 'topic_update', config: {} }] as never;
    expect((await resend.automations.create({ name: 'x', steps: unknown, connections: [] })).error).toMatchObject({
      statusCode: 422,
      name: 'validation_error',
      message: expect.stringMatching(/^steps\.0 must be an object/),
    });
    expect(await ok(resend.automations.stop(id))).toEqual({ object: 'automation', id, status: 'disabled' });
    expect(await ok(resend.automations.remove(id))).toEqual({ object: 'automation', id, deleted: true });
    await ok(resend.contacts.remove(contact.id));
    await ok(resend.segments.remove(segment.id));
    expect(await ok(resend.events.remove(event.id))).toMatchObject({ object: 'event', deleted: true });
  });

  it('manages contacts, their properties, segments and topics', async () => {
    const property = await ok(resend.contactProperties.create({ key: 'plan', type: 'string', fallbackValue: 'free' }));
    expect(await ok(resend.contactProperties.get(property.id))).toMatchObject({ key: 'plan', fallbackValue: 'free' });
    await ok(resend.contactProperties.update({ id: property.id, fallbackValue: 'basic' }));
    expect((await ok(resend.contactProperties.list())).data).toMatchObject([
      { id: property.id, fallbackValue: 'basic' },
    ]);
    const segment = await ok(resend.segments.create({ name: 'Readers' }));
    expect(await ok(resend.segments.get(segment.id))).toMatchObject({ object: 'segment', name: 'Readers' });
    await ok(resend.segments.update(segment.id, { name: 'All readers' } as never));
    expect((await ok(resend.segments.list({ limit: 5 }))).data[0]).toMatchObject({ name: 'All readers' });
    const topic = await ok(resend.topics.create({ name: 'News', defaultSubscription: 'opt_in', description: 'x' }));
    expect(await ok(resend.topics.get(topic.id))).toMatchObject({ default_subscription: 'opt_in', description: 'x' });
    await ok(resend.topics.update({ id: topic.id, name: 'All news' }));
    expect((await ok(resend.topics.list())).data[0]).toMatchObject({ id: topic.id, name: 'All news' });

    const email = 'first.last+sdk@example.org';
    const { id } = await ok(
      resend.contacts.create({
        email,
        firstName: 'F',
        properties: { plan: 'pro' },
        segments: [{ id: segment.id }],
        topics: [{ id: topic.id, subscription: 'opt_out' }],
      }),
    );
    expect(await ok(resend.contacts.get({ email }))).toMatchObject({
      id,
      first_name: 'F',
      properties: { plan: 'pro' },
    });
    expect(await ok(resend.contacts.update({ email, lastName: 'L', unsubscribed: true }))).toMatchObject({ id });
    expect((await ok(resend.contacts.list())).data[0]).toMatchObject({ id, last_name: 'L', unsubscribed: true });
    expect(await ok(resend.contacts.list({ segmentId: segment.id }))).toMatchObject({
      has_more: false,
      data: [{ id }],
    });
    expect((await ok(resend.contacts.segments.list({ email }))).data).toMatchObject([{ id: segment.id }]);
    await ok(resend.contacts.segments.remove({ contactId: id, segmentId: segment.id }));
    await ok(resend.contacts.segments.add({ email, segmentId: segment.id }));
    expect((await ok(resend.contacts.topics.list({ email }))).data).toMatchObject([{ subscription: 'opt_out' }]);
    const chosen = resend.contacts.topics.update({ id, topics: [{ id: topic.id, subscription: 'opt_in' }] });
    expect(await ok(chosen)).toMatchObject({ contact_id: id });
    const legacy = { audienceId: segment.id };
    const { id: old } = await ok(resend.contacts.create({ ...legacy, email: 'legacy@example.org' }));
    expect(await ok(resend.contacts.get({ ...legacy, id: old }))).toMatchObject({ email: 'legacy@example.org' });
    await ok(resend.contacts.update({ ...legacy, id: old, firstName: 'Old' }));
    await ok(resend.contacts.remove({ ...legacy, id: old }));
    expect(await ok(resend.contacts.remove({ email }))).toMatchObject({ deleted: true });
    await ok(resend.segments.remove(segment.id));
    await ok(resend.topics.remove(topic.id));
    await ok(resend.contactProperties.remove(property.id));
  });

  it('imports contacts', async () => {
    const { id } = await ok(
      resend.contacts.imports.create({
        file: new Blob(['Mail,Vorname\nimported@example.org,I\n']),
        columnMap: {
          email: 'Mail',
          firstName: 'Vorname',
          properties: { stage: { column: 'Vorname', type: 'string' } },
        },
        onConflict: 'upsert',
        segments: [],
        topics: [],
      }),
    );
    await scene.settled();
    expect(await ok(resend.contacts.imports.get(id))).toMatchObject({ status: 'completed', counts: { created: 1 } });
    expect((await ok(resend.contacts.imports.list({ status: 'completed' }))).data[0]).toMatchObject({ id });
    expect(await ok(resend.contacts.get('imported@example.org'))).toMatchObject({ properties: { stage: 'I' } });
  });

  it('reads metrics, logs and usage', async () => {
    await ok(resend.emails.send(message({ to: `delivered@simulator.${scene.app.world.config.instance.host}` })));
    await scene.settled();
    const metrics = await ok(
      resend.emails.metrics({
        metrics: ['received', 'delivered', 'delivery_rate'],
        dimensions: ['period', 'domain'],
        granularity: 'daily',
        timezone: 'Europe/Berlin',
        domainId: [domain.id],
      }),
    );
    expect(metrics).toMatchObject({ object: 'metrics', granularity: 'daily', dimensions: ['period', 'domain'] });
    expect(metrics.totals.delivered).toBeGreaterThan(0);
    const logs = await ok(resend.logs.list({ limit: 5 }));
    const posted = logs.data.find((entry) => entry.endpoint === '/emails' && entry.method === 'POST');
    expect(await ok(resend.logs.get(posted?.id ?? ''))).toMatchObject({
      object: 'log',
      response_status: 200,
      request_body: { subject: 'Hello' },
      response_body: { id: expect.any(String) as string },
    });
    expect(await ok(resend.usage.get())).toMatchObject({
      object: 'usage',
      emails: { daily: { sent: expect.any(Number) as number, resets_at: expect.any(String) as string } },
      domains: { used: expect.any(Number) as number, limit: 100 },
      rate_limit: { limit: expect.any(Number) as number, duration: expect.any(String) as string },
    });
  });

  it('replies, forwards and drafts in an inbox', async () => {
    const { id: inboxId, address, domain: own, receive } = await createInbox(scene, team);
    const emailId = await receive({ subject: 'Order 1041' });
    const { threads, drafts } = resend.inboxes;
    const [thread] = (await ok(threads.list({ inboxId }))).data;
    const at = { inboxId, threadId: thread?.id ?? '', emailId };
    const attachments = [{ filename: 'note.txt', content: Buffer.from('a note') }];
    const idempotencyKey = 'answer-1041';
    const answer = { ...at, text: 'On its way.', cc: 'c@example.org', replyAll: true, attachments, headers: null };
    const { id: answered } = await ok(threads.emails.reply(answer, { idempotencyKey }));
    expect(await ok(threads.emails.reply(answer, { idempotencyKey }))).toEqual({ id: answered });
    const { id: forwarded } = await ok(
      threads.emails.forward({ ...at, to: 'accounts@example.org', html: '<p>See</p>' }),
    );
    await scene.settled();
    const sent = (await ok(threads.emails.list({ emailAddress: address, threadId: at.threadId }))).data;
    expect(sent.map((one) => one.id)).toEqual([forwarded, answered, emailId]);
    expect(await ok(threads.emails.get({ ...at, emailId: answered }))).toMatchObject({
      direction: 'outbound',
      subject: 'Re: Order 1041',
      attachments: [{ filename: 'note.txt', size: 6 }],
      to: ['Ada Lovelace <ada@example.org>'],
      cc: ['c@example.org'],
    });
    const { id: draftId } = await ok(
      drafts.create(
        { inboxId, threadId: at.threadId, replyToEmailId: emailId, text: 'And', attachments: [{ ...FILE }] },
        { idempotencyKey: 'draft-1041' },
      ),
    );
    expect(await ok(drafts.update({ inboxId, draftId, text: 'And more', attachments: null }))).toEqual({
      object: 'inbox_draft',
      id: draftId,
    });
    expect((await ok(drafts.list({ inboxId, limit: 5 }))).data).toMatchObject([{ id: draftId, snippet: 'And more' }]);
    expect(await ok(drafts.get({ emailAddress: address, draftId }))).toMatchObject({ type: 'reply', email_id: null });
    const { id: draftSent } = await ok(drafts.send({ inboxId, draftId, headers: { 'X-Order': '1041' } }));
    expect(await ok(drafts.send({ inboxId, draftId }))).toEqual({ id: draftSent });
    expect(await ok(drafts.get({ inboxId, draftId }))).toMatchObject({ email_id: draftSent });
    const { id: other } = await ok(drafts.create({ inboxId, to: `x@${own.name}`, subject: 'New' }));
    expect(await ok(drafts.remove({ inboxId, draftId: other }))).toMatchObject({ id: other, deleted: true });
    expect((await drafts.send({ inboxId, draftId: other })).error).toMatchObject({
      name: 'not_found',
      statusCode: 404,
    });
    await ok(resend.inboxes.remove(inboxId));
  });

  it('reads and revokes grants of apps', async () => {
    const owner = await createPeople(scene).person({ team, role: 'owner' });
    const oauth = createOauth(scene);
    const app = await oauth.register({ logo_uri: 'https://app.example.com/logo.png' });
    await oauth.letIn(owner, app);
    const [grant] = (await ok(resend.oauthGrants.list({ limit: 1 }))).data;
    expect(grant).toMatchObject({
      client_id: app.clientId,
      scopes: ['team:read'],
      revoked_at: null,
      revoked_reason: null,
      client: { name: 'Newsletter Desk', logo_uri: 'https://app.example.com/logo.png' },
    });
    expect(await ok(resend.oauthGrants.revoke(grant?.id ?? ''))).toMatchObject({
      object: 'oauth_grant',
      id: grant?.id,
      revoked_reason: 'user',
    });
  });

  it('answers customers in inboxes', async () => {
    const { inboxes } = resend;
    const { name } = await createReceivingDomain(scene, team);
    const emailAddress = `support@${name}`;
    const { id: inboxId } = await ok(
      inboxes.create({ emailAddress, name: 'Support', fromName: 'Ada', forwarding: false }),
    );
    const received = await receiveMail(scene, team, { to: [emailAddress] });
    expect(await ok(inboxes.get(emailAddress))).toMatchObject({ object: 'inbox', id: inboxId, unread: 1, drafts: 0 });
    expect((await ok(inboxes.list({ limit: 5 }))).data).toMatchObject([{ id: inboxId, from_name: 'Ada' }]);
    await ok(inboxes.update(emailAddress, { name: 'Help', fromName: 'Grace' }));
    await ok(inboxes.agent.update({ inboxId, tone: 'concise_casual', actions: ['archive'] }));
    expect(await ok(inboxes.agent.get({ emailAddress }))).toMatchObject({
      tone: 'concise_casual',
      actions: ['archive'],
    });
    const { id: labelId } = await ok(inboxes.labels.create({ inboxId, name: 'Urgent', color: '#E93D82' }));
    await ok(inboxes.labels.update({ inboxId, labelId, color: '#00A2C7' }));
    expect((await ok(inboxes.labels.list({ emailAddress }))).data).toMatchObject([{ id: labelId, color: '#00A2C7' }]);
    const [thread] = (await ok(inboxes.threads.list({ inboxId, folders: ['inbox', 'archive'], read: false, limit: 5 })))
      .data;
    const threadId = thread?.id ?? '';
    expect(thread).toMatchObject({ subject: 'A question', email_count: 1, has_attachment: true, folder: 'inbox' });
    expect((await ok(inboxes.threads.labels.add({ inboxId, threadId, labels: [labelId] }))).data).toHaveLength(1);
    const found = { inboxId, query: 'does it', from: ['someone@'], hasAttachment: true, labels: [labelId] };
    expect((await ok(inboxes.threads.search(found))).data).toMatchObject([
      { id: threadId, matched_email_id: received },
    ]);
    expect((await ok(inboxes.threads.labels.set({ emailAddress, threadId, labels: [] }))).data).toEqual([]);
    await ok(inboxes.threads.labels.remove({ inboxId, threadId, labelId }));
    expect((await ok(inboxes.threads.emails.list({ inboxId, threadId, limit: 1 }))).data).toMatchObject([
      { id: received },
    ]);
    expect(await ok(inboxes.threads.emails.get({ inboxId, threadId, emailId: received }))).toMatchObject({
      direction: 'inbound',
      text: 'Does it work?\n',
      attachments: [{ filename: 'dot.png', size: 4 }],
    });
    expect(await ok(inboxes.threads.update({ inboxId, threadId, read: true, folder: 'archive' }))).toMatchObject({
      object: 'inbox_thread',
      read: true,
      folder: 'archive',
    });
    expect(await ok(inboxes.threads.get({ inboxId, threadId }))).toMatchObject({ id: threadId, folder: 'archive' });
    expect(await ok(inboxes.threads.remove({ inboxId, threadId }))).toMatchObject({ deleted: true });
    expect(await ok(inboxes.labels.remove({ inboxId, labelId }))).toMatchObject({ deleted: true });
    expect(await ok(inboxes.remove(inboxId))).toEqual({ object: 'inbox', id: inboxId, deleted: true });
  });

  it('gets an error with name and status', async () => {
    const { data, error } = await resend.emails.send(message({ to: 'no address' }));
    expect(data).toBeNull();
    expect(error).toMatchObject({ name: 'validation_error', statusCode: 400 });
    expect((await resend.emails.get('019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77')).error?.name).toBe('not_found');
    expect((await new Resend('rk_nobody').emails.list()).error?.name).toBe('invalid_api_key');
  });

  it('has every method called in this file or in the test of webhooks, with success', () => {
    expect(spies.size).toBeGreaterThan(100);
    // The families call through these; a new one in addition would be for us to call.
    const own = Object.getOwnPropertyNames(Object.getPrototypeOf(resend)).sort();
    expect(own).toEqual(['constructor', 'delete', 'fetchRequest', 'get', 'logError', 'patch', 'post', 'put']);
    expect([...spies.keys()].filter((name) => !succeeded.has(name))).toEqual([]);
  });
});
