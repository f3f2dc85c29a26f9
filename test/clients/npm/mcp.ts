// Calls every tool of the official MCP server that calls the API; tools that only talk to the website of its maker are left out.
import path from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { FIXTURES, PACKAGES, report, type Answer, type Expected } from './report.ts';

const client = new Client({ name: 'calls', version: '1' });
const environment = Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined);
await client.connect(
  new StdioClientTransport({
    command: process.execPath,
    args: [path.join(PACKAGES, 'resend-mcp/dist/index.js')],
    env: Object.fromEntries(environment),
    stderr: 'ignore',
  }),
);
const { tools } = await client.listTools();
const called = new Set<string>();

async function call(tool: string, args: Record<string, unknown>, expected: Expected = {}): Promise<Answer> {
  called.add(tool);
  return report(tool, { file: 'resend-mcp', ...expected }, async () => {
    const result = await client.callTool({ name: tool, arguments: args });
    const said = JSON.stringify(result.content);
    if (result.isError) throw new Error(said);
  });
}

const ID = { reads: ['id'] };
const message = (more: object = {}) => ({
  from: `Acme <me@${FIXTURES.domain}>`,
  to: ['x@example.org'],
  subject: 'Hello',
  text: 'It works.',
  replyTo: [],
  ...more,
});

const sent = await call(
  'send-email',
  message({ html: '<p>It works.</p>', cc: ['c@example.org'], idempotencyKey: 'one' }),
  ID,
);
const withFile = await call(
  'send-email',
  message({ attachments: [{ filename: 'a.txt', content: 'YSBmaWxl' }], tags: [{ name: 'kind', value: 'receipt' }] }),
  ID,
);
await call('send-email', message({ scheduledAt: 'tomorrow at 10am' }), {
  refused: 'scheduled_at of an email is an ISO 8601 time',
});
await call('send-email', message({ headers: { 'List-Unsubscribe': '<https://example.org/u>' } }), {
  refused: 'List-Unsubscribe is set by the server',
});
const scheduled = await call('send-email', message({ scheduledAt: FIXTURES.in_an_hour }), ID);
await call('update-email', { id: scheduled.id, scheduledAt: FIXTURES.in_two_hours }, ID);
await call('cancel-email', { id: scheduled.id }, ID);
await call('get-email', { id: sent.id }, { reads: ['id', 'to', 'from', 'subject', 'last_event', 'created_at'] });
await call('list-emails', { limit: 2 }, { reads: ['data.0.id', 'has_more'] });
await call('share-email', { id: sent.id, expiresIn: '2 hours' }, { reads: ['url'] });
await call('get-email-metrics', { metrics: ['received', 'delivered'], dimensions: ['period'], granularity: 'daily' });
const files = await call('list-sent-email-attachments', { emailId: withFile.id }, { reads: ['data.0.id'] });
await call('get-sent-email-attachment', { emailId: withFile.id, id: files.data[0].id }, { reads: ['download_url'] });
await call('send-batch-emails', { emails: [message(), message()], idempotencyKey: 'batch' }, { reads: ['data.0.id'] });
await call('list-received-emails', { limit: 2 }, { reads: ['data.0.id', 'has_more'] });
await call('get-received-email', { id: FIXTURES.received }, { reads: ['id', 'from', 'to', 'subject', 'text'] });
const arrived = await call('list-received-email-attachments', { emailId: FIXTURES.received }, { reads: ['data.0.id'] });
await call(
  'get-received-email-attachment',
  { emailId: FIXTURES.received, id: arrived.data[0].id },
  { reads: ['download_url'] },
);

const key = await call('create-api-key', { name: 'Sending', permission: 'sending_access' }, { reads: ['id', 'token'] });
await call('list-api-keys', { limit: 5 }, { reads: ['data.0.id', 'data.0.name'] });
await call('update-api-key', { id: key.id, name: 'Renamed' });
await call('remove-api-key', { id: key.id });

const domain = await call(
  'create-domain',
  { name: 'mcp.example.com', region: 'us-east-1', tls: 'opportunistic' },
  { reads: ['id', 'records'] },
);
await call('get-domain', { id: domain.id }, { reads: ['id', 'name', 'status', 'records'] });
await call('list-domains', {}, { reads: ['data.0.id'] });
await call('update-domain', { id: domain.id, openTracking: true }, ID);
await call('verify-domain', { id: domain.id }, ID);
await call('remove-domain', { id: domain.id }, ID);
const claim = await call('create-domain-claim', { name: FIXTURES.claimable }, { reads: ['id', 'domain_id', 'record'] });
await call('get-domain-claim', { id: claim.domain_id }, { reads: ['status'] });
await call('verify-domain-claim', { id: claim.domain_id }, { reads: ['status'] });

const segment = await call('create-segment', { name: 'Readers' }, { reads: ['id', 'name'] });
await call('get-segment', { id: segment.id }, { reads: ['id', 'name', 'created_at'] });
await call('list-segments', {}, { reads: ['data.0.id', 'has_more'] });
await call('update-segment', { id: segment.id, name: 'All readers' });
const property = await call('create-contact-property', { key: 'plan', type: 'string', fallbackValue: 'free' }, ID);
await call(
  'get-contact-property',
  { contactPropertyId: property.id },
  { reads: ['id', 'key', 'type', 'fallback_value'] },
);
await call('list-contact-properties', {}, { reads: ['data.0.id'] });
await call('update-contact-property', { contactPropertyId: property.id, fallbackValue: 'basic' }, ID);
const topic = await call('create-topic', { name: 'News', defaultSubscription: 'opt_in' }, ID);
await call('get-topic', { id: topic.id }, { reads: ['id', 'name', 'default_subscription'] });
await call('list-topics', {}, { reads: ['data.0.id'] });
await call('update-topic', { id: topic.id, name: 'All news' }, ID);
const contact = await call(
  'create-contact',
  {
    email: 'ada@example.org',
    firstName: 'Ada',
    properties: { plan: 'pro' },
    topics: [{ id: topic.id, subscription: 'opt_in' }],
  },
  ID,
);
await call('get-contact', { id: contact.id }, { reads: ['id', 'email', 'first_name', 'unsubscribed'] });
await call('get-contact', { email: 'ada@example.org' }, { reads: ['id', 'email'] });
await call('list-contacts', { limit: 5 }, { reads: ['data.0.id', 'data.0.email'] });
await call('update-contact', { id: contact.id, lastName: 'L' }, ID);
await call('update-contact', { email: 'ada@example.org', unsubscribed: false }, ID);
await call('add-contact-to-segment', { contactId: contact.id, segmentId: segment.id });
await call('list-contact-segments', { contactId: contact.id }, { reads: ['data.0.id', 'data.0.name'] });
await call('remove-contact-from-segment', { contactId: contact.id, segmentId: segment.id }, { reads: ['deleted'] });
await call('add-contact-to-segment', { email: 'ada@example.org', segmentId: segment.id });
await call('update-contact-topics', { id: contact.id, topics: [{ id: topic.id, subscription: 'opt_out' }] });
await call('list-contact-topics', { email: 'ada@example.org' }, { reads: ['data.0.id', 'data.0.subscription'] });
const imported = await call(
  'create-contact-import',
  {
    content: 'Email,Name\nsteve@example.org,Steve\n',
    columnMap: { email: 'Email', firstName: 'Name' },
    onConflict: 'upsert',
  },
  ID,
);
await call('get-contact-import', { id: imported.id }, { reads: ['id', 'status', 'counts'] });
await call('list-contact-imports', { limit: 5 }, { reads: ['data.0.id', 'data.0.status'] });

const draft = {
  name: 'First',
  segmentId: segment.id,
  subject: 'Hello',
  html: '<p>Hello {{{FIRST_NAME|friend}}}</p>',
  text: 'Hello',
  from: `News <news@${FIXTURES.domain}>`,
  replyTo: ['answers@example.com'],
};
const first = await call('create-broadcast', draft, ID);
await call('update-broadcast', { broadcastId: first.id, name: 'Renamed' }, ID);
await call('get-broadcast', { broadcastId: first.id }, { reads: ['id', 'name', 'status', 'subject'] });
await call('list-broadcasts', {}, { reads: ['data.0.id', 'data.0.status'] });
const copy = await call('duplicate-broadcast', { broadcastId: first.id }, ID);
await call('send-broadcast', { broadcastId: first.id, scheduledAt: 'in 2 hours' }, ID);
await call('remove-broadcast', { broadcastId: first.id }, { refused: 'only a draft can be deleted' });
await call('cancel-broadcast', { broadcastId: first.id }, ID);
await call('send-broadcast', { broadcastId: copy.id }, ID);
await call('list-broadcast-recipients', { broadcastId: copy.id, type: 'sent' }, { reads: ['data'] });
await call('list-broadcast-clicked-links', { broadcastId: copy.id }, { reads: ['data'] });
const third = await call('create-broadcast', draft, ID);
await call('remove-broadcast', { broadcastId: third.id }, { reads: ['id', 'deleted'] });

const template = await call(
  'create-template',
  {
    name: 'welcome',
    subject: 'Welcome, {{{NAME}}}',
    from: `me@${FIXTURES.domain}`,
    html: '<p>{{{NAME}}}</p>',
    variables: [{ key: 'NAME', type: 'string', fallbackValue: 'user' }],
  },
  ID,
);
await call('publish-template', { id: template.id }, ID);
await call('get-template', { id: template.id }, { reads: ['id', 'name', 'html', 'variables'] });
await call('list-templates', {}, { reads: ['data.0.id'] });
await call('update-template', { id: template.id, name: 'renamed' }, ID);
const twin = await call('duplicate-template', { id: template.id }, ID);
await call('remove-template', { id: twin.id }, { reads: ['id', 'deleted'] });

const event = await call('manage-events', { action: 'create', name: 'user.created', schema: { plan: 'string' } }, ID);
await call('manage-events', { action: 'get', identifier: 'user.created' }, { reads: ['id', 'name', 'schema'] });
await call('manage-events', { action: 'list', limit: 5 }, { reads: ['data.0.id', 'data.0.name'] });
await call('manage-events', { action: 'update', identifier: event.id, schema: null }, ID);
const workflow = {
  steps: [
    { key: 'start', type: 'trigger', config: { eventName: 'user.created' }, next: 'wait' },
    { key: 'wait', type: 'delay', config: { duration: '30 minutes' } },
  ],
};
const automation = await call('create-automation', { name: 'Welcome', status: 'enabled', workflow }, ID);
await call(
  'send-event',
  { event: 'user.created', contactId: contact.id, payload: { plan: 'pro' } },
  { reads: ['event'] },
);
await call('get-automation', { id: automation.id }, { reads: ['id', 'name', 'status', 'steps'] });
await call('get-automation', { limit: 5 }, { reads: ['data.0.id'] });
const runs = await call(
  'get-automation-runs',
  { automationId: automation.id },
  { reads: ['data.0.id', 'data.0.status'] },
);
await call(
  'get-automation-runs',
  { automationId: automation.id, runId: runs.data[0].id },
  { reads: ['status', 'steps'] },
);
const second = await call('duplicate-automation', { id: automation.id }, ID);
await call('update-automation', { id: automation.id, status: 'disabled' }, ID);
await call('remove-automation', { id: second.id }, { reads: ['deleted'] });
await call('remove-automation', { id: automation.id }, { reads: ['deleted'] });
await call('manage-events', { action: 'remove', identifier: event.id }, { reads: ['deleted'] });

await call('add-suppression', { email: 'blocked@example.org' }, ID);
await call('get-suppression', { idOrEmail: 'blocked@example.org' }, { reads: ['id', 'email', 'origin'] });
await call('list-suppressions', { origin: 'manual', limit: 5 }, { reads: ['data.0.id', 'data.0.email'] });
await call('batch-add-suppressions', { emails: ['one@example.org', 'two@example.org'] }, { reads: ['data.0.id'] });
await call('batch-remove-suppressions', { emails: ['one@example.org', 'two@example.org'] }, { reads: ['data.0.id'] });
await call('remove-suppression', { idOrEmail: 'blocked@example.org' }, { reads: ['deleted'] });

const hook = await call(
  'create-webhook',
  { endpoint: FIXTURES.endpoint, events: ['email.sent'] },
  { reads: ['id', 'signing_secret'] },
);
await call('get-webhook', { webhookId: hook.id }, { reads: ['id', 'endpoint', 'events', 'status'] });
await call('list-webhooks', {}, { reads: ['data.0.id', 'data.0.endpoint'] });
await call('update-webhook', { webhookId: hook.id, events: ['email.sent', 'email.bounced'], status: 'enabled' }, ID);
await call('rotate-webhook-signing-secret', { webhookId: hook.id }, { reads: ['signing_secret'] });
await call('remove-webhook', { webhookId: hook.id }, { reads: ['deleted'] });
const webhookId = FIXTURES.hook;
const deliveries = await call('list-webhook-events', { webhookId }, { reads: ['data.0.id'] });
const eventId = deliveries.data[0].id as string;
await call('get-webhook-event', { webhookId, eventId }, { reads: ['id'] });
await call('list-webhook-event-attempts', { webhookId, eventId }, { reads: ['data'] });
await call('replay-webhook-event', { webhookId, eventId });

const logs = await call('list-logs', { limit: 5 }, { reads: ['data.0.id', 'data.0.endpoint'] });
await call('get-log', { logId: logs.data[0].id }, { reads: ['id', 'endpoint', 'method', 'response_status'] });
const grants = await call('list-oauth-grants', {}, { reads: ['data.0.id'] });
await call('revoke-oauth-grant', { id: grants.data[0].id }, ID);

await call('remove-contact', { id: contact.id }, { reads: ['contact', 'deleted'] });
await call('remove-contact-property', { contactPropertyId: property.id }, { reads: ['deleted'] });
await call('remove-topic', { id: topic.id }, { reads: ['deleted'] });
await call('remove-segment', { id: segment.id }, { reads: ['deleted'] });

// These open the editor of the maker's website.
const elsewhere = ['compose', 'connect', 'disconnect', 'tiptap'];
for (const { name } of tools) {
  if (called.has(name) || elsewhere.some((part) => name.includes(part))) continue;
  await report(name, {}, async () => Promise.reject(new Error('the script does not call this tool')));
}
await client.close();
