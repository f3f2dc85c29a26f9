// Calls every method of an earlier major version of the official client of Node.js; its package is the first argument.
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { FIXTURES, PACKAGES, report, type Answer, type Expected } from './report.ts';

const name = process.argv[2] ?? '';
const { Resend } = (await import(pathToFileURL(path.join(PACKAGES, name, 'dist/index.mjs')).href)) as Answer;
const resend = new Resend(process.env['RESEND_API_KEY']);
const called = new Set<string>();

async function call(method: string, args: unknown[], expected: Expected = {}): Promise<Answer> {
  called.add(method);
  const [family = '', own = ''] = method.split('.');
  // A method that a version does not have is not called.
  if (typeof resend[family]?.[own] !== 'function') return undefined;
  return report(method, { file: name, ...expected }, async () => {
    const { error } = await resend[family][own](...args);
    if (error) throw new Error(`${error.name}: ${error.message}`);
  });
}

const ID = { reads: ['id'] };
const message = (more: object = {}) => ({
  from: `Acme <me@${FIXTURES.domain}>`,
  to: ['x@example.org'],
  subject: 'Hello',
  text: 'It works.',
  ...more,
});

const sent = await call(
  'emails.send',
  [
    message({
      html: '<p>It works.</p>',
      cc: 'c@example.org',
      reply_to: 'answers@example.com',
      headers: { 'X-Order': '7' },
      tags: [{ name: 'kind', value: 'receipt' }],
    }),
  ],
  ID,
);
await call('emails.create', [message(), { idempotencyKey: 'receipt-1' }], ID);
// A Buffer becomes an object with its bytes.
const attachments = [
  { filename: 'buffer.txt', content: Buffer.from('a file') },
  { filename: 'base64.txt', content: 'YSBmaWxl' },
];
await call('emails.send', [message({ attachments })], ID);
await call('emails.get', [sent.id], {
  reads: ['object', 'id', 'to', 'from', 'created_at', 'subject', 'html', 'text', 'last_event'],
});
if (resend.emails.update) {
  const scheduled = await call('emails.send', [message({ scheduledAt: FIXTURES.in_an_hour })], ID);
  await call('emails.update', [{ id: scheduled.id, scheduledAt: FIXTURES.in_two_hours }], ID);
  await call('emails.cancel', [scheduled.id], ID);
}
await call('batch.send', [[message(), message()]], { reads: ['data.0.id'] });
await call('batch.create', [[message(), message()], { idempotencyKey: 'batch-1' }], { reads: ['data.0.id'] });

const key = await call('apiKeys.create', [{ name: 'Sending', permission: 'sending_access' }], {
  reads: ['id', 'token'],
});
await call('apiKeys.list', [], { reads: ['data.0.id', 'data.0.name', 'data.0.created_at'] });
await call('apiKeys.remove', [key.id]);

const domain = await call('domains.create', [{ name: `${name}.example.com`, region: 'us-east-1' }], {
  reads: ['id', 'name', 'status', 'records', 'region', 'created_at'],
});
await call('domains.get', [domain.id], {
  reads: ['object', 'id', 'name', 'status', 'records', 'region', 'created_at'],
});
await call('domains.update', [{ id: domain.id, openTracking: true, clickTracking: true }], ID);
await call('domains.verify', [domain.id], { reads: ['object', 'id'] });
await call('domains.list', [], { reads: ['data.0.id', 'data.0.name', 'data.0.status', 'data.0.region'] });
await call('domains.remove', [domain.id], { reads: ['object', 'id', 'deleted'] });

const audience = await call('audiences.create', [{ name: 'Subscribers' }], { reads: ['object', 'id', 'name'] });
await call('audiences.get', [audience.id], { reads: ['object', 'id', 'name', 'created_at'] });
await call('audiences.list', [], { reads: ['object', 'data.0.id', 'data.0.name', 'data.0.created_at'] });
const audienceId = audience.id as string;
/** Version 2 writes names as the API has them. */
const inAudience = (more: Record<string, unknown>): Record<string, unknown> =>
  name === 'resend2'
    ? Object.fromEntries(
        Object.entries({ audienceId, ...more }).map(([field, value]) => [
          field.replace(/[A-Z]/g, '_$&').toLowerCase(),
          value,
        ]),
      )
    : { audienceId, ...more };
const contact = await call(
  'contacts.create',
  [inAudience({ email: 'ada@example.org', firstName: 'Ada', unsubscribed: false })],
  { reads: ['object', 'id'] },
);
const fields = ['id', 'email', 'first_name', 'last_name', 'created_at', 'unsubscribed'];
await call('contacts.get', [inAudience({ id: contact.id })], { reads: ['object', ...fields] });
if (resend.broadcasts)
  await call('contacts.get', [inAudience({ email: 'ada@example.org' })], { reads: ['object', ...fields] });
await call('contacts.update', [inAudience({ id: contact.id, lastName: 'L', unsubscribed: false })], ID);
await call('contacts.list', [inAudience({})], { reads: ['object', ...fields.map((field) => `data.0.${field}`)] });

if (resend.broadcasts) {
  const draft = {
    audienceId,
    from: `News <news@${FIXTURES.domain}>`,
    subject: 'Hello',
    previewText: 'News of the month',
    html: '<p>Hello {{{FIRST_NAME|friend}}}</p>',
    replyTo: ['foo@example.org'],
    name: 'First',
  };
  const first = await call('broadcasts.create', [draft], ID);
  await call('broadcasts.update', [first.id, { name: 'Renamed', html: '<p>Updated</p>' }], ID);
  await call('broadcasts.get', [first.id], {
    reads: ['object', 'id', 'name', 'from', 'subject', 'status', 'created_at'],
  });
  await call('broadcasts.list', [], { reads: ['object', 'data.0.id', 'data.0.name', 'data.0.status'] });
  await call('broadcasts.send', [first.id], ID);
  const second = await call('broadcasts.create', [draft], ID);
  await call('broadcasts.send', [second.id, { scheduledAt: 'in 2 hours' }], ID);
  const third = await call('broadcasts.create', [draft], ID);
  await call('broadcasts.remove', [third.id], { reads: ['object', 'id', 'deleted'] });
}
await call('contacts.remove', [inAudience({ id: contact.id })], { reads: ['object', 'contact', 'deleted'] });
await call('audiences.remove', [audienceId], { reads: ['object', 'id', 'deleted'] });

for (const [family, methods] of Object.entries(resend as Record<string, Answer>)) {
  if (methods === null || typeof methods !== 'object' || !('resend' in methods)) continue;
  for (const own of Object.getOwnPropertyNames(Object.getPrototypeOf(methods))) {
    if (own === 'constructor' || called.has(`${family}.${own}`)) continue;
    await report(`${family}.${own}`, {}, async () => Promise.reject(new Error('the script does not call this method')));
  }
}
