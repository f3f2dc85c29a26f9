import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { createClient, type Client } from './client.ts';
import { ApiFault } from './faults.ts';

/** Hands a client to `use` whose server refuses everything, and answers what the server was asked for. */
async function refusing(use: (client: Client) => Promise<unknown>): Promise<{ asked: string[]; fault: unknown }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    request.resume().on('end', () => {
      response.writeHead(404, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ statusCode: 404, name: 'not_found', message: 'Attachment not found.' }));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    const fault = await use(createClient({ url, version: '9.9.9' })).catch((error: unknown) => error);
    return { asked, fault };
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const PATH = { email_id: 'e', attachment_id: 'a' };
const LINK = 'https://mail.example.com/emails/e/attachments/a/download?expires=1&token=t';

it.each<[string, (client: Client) => Promise<unknown>, asked: string, path: object]>([
  [
    'downloadAttachment',
    (client) => client.download({ operation: 'downloadAttachment', path: PATH }, LINK),
    'GET /emails/e/attachments/a/download?expires=1&token=t',
    PATH,
  ],
  [
    'exportContacts',
    (client) => client.fetchFile('exportContacts', { format: 'csv' }),
    'GET /contacts/export?format=csv',
    {},
  ],
  [
    'createContactImport',
    (client) => client.upload('createContactImport', new FormData()),
    'POST /contacts/imports',
    {},
  ],
  [
    'listenWebhooks',
    (client) => {
      const { signal } = new AbortController();
      return client.stream('listenWebhooks', { query: { events: 'email.sent' }, signal, silenceMs: 20_000 });
    },
    'GET /webhooks/listen?events=email.sent',
    {},
  ],
  [
    'getEmail',
    (client) => client.call('getEmail', { path: { email_id: 'a/b' } }),
    'GET /emails/a%2Fb',
    { email_id: 'a/b' },
  ],
])('a refusal of %s names that operation and what its path named', async (operation, use, asked, path) => {
  const refused = await refusing(use);
  expect(refused.asked).toEqual([asked]);
  expect(refused.fault).toBeInstanceOf(ApiFault);
  expect(refused.fault).toMatchObject({ operation, path });
});

it('a call without what its path needs asks for nothing', async () => {
  const { asked, fault } = await refusing((client) => client.call('getEmail', { path: {} as { email_id: string } }));
  expect(asked).toEqual([]);
  expect(String(fault)).toBe('Error: getEmail was called without email_id, which its path needs');
});
