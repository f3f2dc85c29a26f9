// Twenty jobs that people give to an assistant, done by a scripted client: each is possible within a few calls, or
// refused with the reason and what to do instead.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createInbox, type Inbox } from '../../rig/inboxes.ts';
import { createAssistants, CLIENTS, type McpClient, type SeenResult } from '../../rig/mcp.ts';
import { MESSAGE, receiveMail } from '../../rig/received-mail.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';
import { plantAttempt, plantWebhook, plantWebhookEvent } from '../../rig/webhooks.ts';
import { line, start, step } from '../automations/graph.ts';
import { openDesk, type Desk } from '../broadcasts/drafting.ts';

let scene: Scene;
let team: Team;
let desk: Desk;
let inbox: Inbox;
let client: McpClient;
let listed: Set<string>;
beforeAll(async () => {
  scene = await startScene();
  desk = await openDesk(scene);
  team = desk.team;
  inbox = await createInbox(scene, team);
  await inbox.receive({ subject: 'Where is my order?', text: 'It is order 7.' });
  await receiveMail(scene, team, { raw: MESSAGE });
  const emails = Array.from({ length: 20 }, (_, i) => ({
    from: `shop@${desk.domain.name}`,
    to: i < 3 ? `permfail@shop${i}.example` : `customer${i}@example.org`,
    subject: `Order ${i}`,
    html: `<p>Order ${i} ${'is confirmed, and it is on its way. '.repeat(200)}</p>`,
  }));
  for (const body of emails) await post('/emails', body);
  const endpoint = await plantWebhook(scene, team);
  const publicId = await plantWebhookEvent(scene, team, endpoint, { status: 'failed', attempts: 1, lastStatus: 500 });
  await plantAttempt(scene, { webhookId: endpoint, publicId }, { status: 500, response: 'the database is down' });
  await post('/suppressions', { email: 'blocked@example.org' });
  await post('/events', { name: 'order' });
  for (const name of ['ada', 'gone']) await post('/contacts', { email: `${name}@example.org` });
  await desk.make({ name: 'Last week' });
  const template = (await post('/templates', { name: 'Thanks', subject: 'Thanks', html: '<p>Thanks</p>' })).body.id;
  await post(`/templates/${template}/publish`, {});
  const config = { from: `shop@${desk.domain.name}`, template: { id: template } };
  const graph = line(start, step('mail', 'send_email', config));
  await post('/automations', { name: 'Thank', status: 'enabled', ...graph });
  await scene.settled();
  const assistants = await createAssistants(scene, team);
  client = await CLIENTS['2026-07-28'](assistants.url, await assistants.token());
  listed = new Set((await client.tools()).map(({ name }) => name));
});
afterAll(async () => {
  await client[Symbol.asyncDispose]();
  await scene.close();
});

const post = (path: string, body: object) => scene.api('POST', path, { key: team.key, body });

/** Counts what a model would send and read. */
interface Ledger {
  calls: string[];
  bytes: number;
}

/**
 * Calls an operation as a model does that does not know it: by its tool, or else after a search that must name it
 * first or among the first few.
 */
function createJob(ledger: Ledger) {
  const found = new Set<string>();
  const count = async (name: string, given: Record<string, unknown>): Promise<SeenResult> => {
    const result = await client.call(name, given);
    ledger.calls.push(name === 'call_operation' ? String(given['operation_id']) : name);
    ledger.bytes += Buffer.byteLength(JSON.stringify(given)) + Buffer.byteLength(result.text);
    return result;
  };
  return async (operation: string, given: Record<string, unknown> = {}, query = ''): Promise<SeenResult> => {
    if (listed.has(operation)) return count(operation, given);
    if (query !== '' && !found.has(operation)) {
      const { text } = await count('search_operations', { query, limit: 3 });
      if (!text.includes(`"operation_id":"${operation}"`)) throw new Error(`${query} does not find ${operation}`);
      for (const [, id = ''] of text.matchAll(/"operation_id":"(\w+)"/g)) found.add(id);
    }
    return count('call_operation', { operation_id: operation, arguments: given });
  };
}

type Call = ReturnType<typeof createJob>;

/** Returns the value of a call that must not be refused. */
async function readValue(answer: Promise<SeenResult>) {
  const { isError, text, value } = await answer;
  if (isError) throw new Error(text);
  return value();
}

const DAY_MS = 24 * 3_600_000;
const inDays = (days: number) => new Date(scene.clock.now() + days * DAY_MS).toISOString();

interface Job {
  name: string;
  /** Calls and bytes that are enough. */
  calls: number;
  bytes: number;
  run: (call: Call) => Promise<unknown>;
}

const JOBS: Job[] = [
  {
    name: 'send an email',
    calls: 1,
    bytes: 300,
    async run(call) {
      const email = { from: `a@${desk.domain.name}`, to: 'x@example.org', subject: 'Hello', text: 'It works.' };
      expect(await readValue(call('sendEmail', { ...email, idempotency_key: 'job-1' }))).toHaveProperty('id');
    },
  },
  {
    name: 'say why an email was not delivered',
    calls: 3,
    bytes: 4000,
    async run(call) {
      const { data } = await readValue(call('listEmails', { search: 'permfail@shop1.example', limit: 1 }));
      const email_id = data[0].id;
      await readValue(call('listEmailEvents', { email_id }));
      const attempts = await call('listEmailAttempts', { email_id });
      expect(attempts.text).toContain('550');
    },
  },
  {
    name: 'report the bounces of the week',
    calls: 2,
    bytes: 2500,
    async run(call) {
      const metrics = ['received', 'delivered', 'bounced'];
      await readValue(call('getEmailMetrics', { metrics }));
      const given = { status: 'bounced', start_date: inDays(-7), limit: 100 };
      expect((await readValue(call('listEmails', given))).data).toHaveLength(3);
    },
  },
  {
    name: 'add a contact and make a segment',
    calls: 3,
    bytes: 800,
    async run(call) {
      await readValue(call('createContact', { email: 'grace@example.org', first_name: 'Grace' }));
      const filter = { all: [{ field: 'first_name', op: 'eq', value: 'Grace' }] };
      expect(await readValue(call('previewSegment', { filter }))).toMatchObject({ contacts: 1 });
      await readValue(call('createSegment', { name: 'Graces', filter }));
    },
  },
  {
    name: 'write a template, publish it and send it',
    calls: 3,
    bytes: 600,
    async run(call) {
      const { id } = await readValue(call('createTemplate', { name: 'Hi', subject: 'Hi', html: '<p>Hi</p>' }));
      await readValue(call('publishTemplate', { template_id: id }));
      const email = { from: `a@${desk.domain.name}`, to: 'x@example.org', template: { id } };
      await readValue(call('sendEmail', email));
    },
  },
  {
    name: 'prepare a broadcast, check it and schedule it',
    calls: 5,
    bytes: 3600,
    async run(call) {
      await readValue(call('listSegments'));
      const { id: broadcast_id } = await readValue(call('createBroadcast', { ...desk.draft, name: 'News' }));
      await readValue(call('runBroadcastChecks', { broadcast_id }));
      await readValue(call('sendBroadcast', { broadcast_id, scheduled_at: inDays(1), acknowledge_checks: true }));
      await readValue(call('cancelBroadcast', { broadcast_id }));
    },
  },
  {
    name: 'schedule an email, move it and cancel it',
    calls: 3,
    bytes: 700,
    async run(call) {
      const email = { from: `a@${desk.domain.name}`, to: 'x@example.org', subject: 'Later', text: 'Later.' };
      const { id: email_id } = await readValue(call('sendEmail', { ...email, scheduled_at: inDays(1) }));
      await readValue(call('updateEmail', { email_id, scheduled_at: inDays(2) }));
      await readValue(call('cancelEmail', { email_id }));
    },
  },
  {
    name: 'say what is wrong with a domain',
    calls: 4,
    bytes: 10_000,
    async run(call) {
      const { data } = await readValue(call('listDomains', {}, 'list domains'));
      const domain = await readValue(call('getDomain', { domain_id: data[0].id }, 'get domain'));
      expect(domain.records.length).toBeGreaterThan(0);
    },
  },
  {
    name: 'say why a webhook fails',
    calls: 6,
    bytes: 7500,
    async run(call) {
      const { data } = await readValue(call('listWebhooks', {}, 'list webhooks'));
      const webhook_id = data[0].id;
      const events = await readValue(call('listWebhookEvents', { webhook_id, status: 'failed' }, 'webhook events'));
      const given = { webhook_id, event_id: events.data[0].id };
      expect((await call('listWebhookAttempts', given, 'webhook attempts')).text).toContain('the database is down');
    },
  },
  {
    name: 'say how much was used',
    calls: 2,
    bytes: 1600,
    run: async (call) => expect(await readValue(call('getUsage', {}, 'usage quota'))).toHaveProperty('emails'),
  },
  {
    name: 'answer a conversation of an inbox',
    calls: 5,
    bytes: 4800,
    async run(call) {
      const inboxes = await readValue(call('listInboxes', {}, 'list inboxes'));
      const inbox_id = inboxes.data[0].id;
      const threads = await readValue(call('listInboxThreads', { inbox_id, folders: ['inbox'], read: false }));
      const thread_id = threads.data[0].id;
      const emails = await readValue(call('listInboxThreadEmails', { inbox_id, thread_id }));
      const given = { inbox_id, thread_id, inbox_email_id: emails.data[0].id, text: 'It is on its way.' };
      await readValue(call('replyToInboxEmail', given));
    },
  },
  {
    name: 'say whether an address is suppressed, and remove it',
    calls: 4,
    bytes: 2400,
    async run(call) {
      const suppression_id = 'blocked@example.org';
      const found = await readValue(call('getSuppression', { suppression_id }, 'get suppression'));
      expect(found).toMatchObject({ email: suppression_id });
      await readValue(call('deleteSuppression', { suppression_id }, 'delete suppression'));
    },
  },
  {
    name: 'show the runs of an automation',
    calls: 4,
    bytes: 5000,
    async run(call) {
      await readValue(call('sendEvent', { event: 'order', email: 'ada@example.org' }));
      await scene.settled();
      const { data } = await readValue(call('listAutomations'));
      const given = { automation_id: data[0].id, status: ['running', 'completed'] };
      expect((await readValue(call('listAutomationRuns', given, 'automation runs'))).data.length).toBeGreaterThan(0);
    },
  },
  {
    name: 'list the calls that failed',
    calls: 2,
    bytes: 2400,
    async run(call) {
      await scene.api('GET', '/emails/none', { key: team.key });
      const given = { response_status: '400', limit: 5 };
      expect((await call('listLogs', given, 'list logs')).isError).toBe(false);
    },
  },
  {
    name: 'read received mail',
    calls: 2,
    bytes: 3500,
    async run(call) {
      const { data } = await readValue(call('listReceivedEmails', { limit: 5 }));
      const given = { received_email_id: data[0].id };
      expect(await readValue(call('getReceivedEmail', given))).toHaveProperty('text');
    },
  },
  {
    name: 'delete a contact',
    calls: 2,
    bytes: 2000,
    async run(call) {
      const given = { contact_id: 'gone@example.org' };
      expect(await readValue(call('deleteContact', given, 'delete contact'))).toMatchObject({ deleted: true });
    },
  },
  {
    name: 'make a topic and subscribe a contact to it',
    calls: 4,
    bytes: 10_000,
    async run(call) {
      const topic = { name: 'Offers', default_subscription: 'opt_out' };
      const { id } = await readValue(call('createTopic', topic, 'create topic'));
      const given = { contact_id: 'ada@example.org', topics: [{ id, subscription: 'opt_in' }] };
      await readValue(call('updateContactTopics', given, 'change topics of a contact'));
    },
  },
  {
    name: 'report an event of a contact',
    calls: 1,
    bytes: 150,
    run: async (call) => readValue(call('sendEvent', { event: 'order', email: 'ada@example.org' })),
  },
  {
    name: 'report on a campaign',
    calls: 2,
    bytes: 2400,
    async run(call) {
      const { data } = await readValue(call('listBroadcasts'));
      expect(await readValue(call('getBroadcast', { broadcast_id: data[0].id }))).toHaveProperty('counts');
    },
  },
];

describe('an assistant', () => {
  it.each(JOBS)('an assistant can $name within $calls calls', async ({ run, calls, bytes }) => {
    const ledger: Ledger = { calls: [], bytes: 0 };
    await run(createJob(ledger));
    expect(ledger.calls.length, ledger.calls.join()).toBeLessThanOrEqual(calls);
    expect(ledger.bytes).toBeLessThanOrEqual(bytes);
  });

  it('an assistant is told why it cannot import a file of contacts, and who can', async () => {
    const ledger: Ledger = { calls: [], bytes: 0 };
    const { isError, text } = await createJob(ledger)('createContactImport', {}, 'import contacts');
    expect([isError, text]).toEqual([true, expect.stringContaining('exists, but not for MCP: a file does not fit')]);
    expect(text).toContain('createContact');
    expect(text).toContain('rasket contacts import');
    expect(ledger.calls).toHaveLength(2);
  });
});
