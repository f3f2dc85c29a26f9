import { receiveMail } from './received-mail.ts';
import { receivingDomainOf } from './mx.ts';
import type { Scene, Team } from './scene.ts';
import type { ApiAnswer, ApiCall } from './api.ts';

export interface InboxRig {
  id: string;
  address: string;
  domain: { id: string; name: string };
  path: string;
  call(method: string, path: string, call?: Omit<ApiCall, 'key'>): Promise<ApiAnswer>;
  /** A message that has come in, as its thread and its email. */
  arrive(message: Letter): Promise<{ threadId: string; emailId: string; path: string }>;
  threads(query?: string): Promise<{ id: string; [field: string]: unknown }[]>;
}

export interface Letter {
  from?: string;
  to?: string;
  subject?: string;
  messageId?: string;
  headers?: readonly string[];
  /** From the Content-Type on. */
  content?: readonly string[];
  text?: string;
  mailFrom?: string;
}

let letters = 0;

/** An inbox at a domain of the team that sends and receives. */
export async function inboxOf(scene: Scene, team: Team, more: Record<string, unknown> = {}): Promise<InboxRig> {
  const domain = await receivingDomainOf(scene, team);
  const address = `support@${domain.name}`;
  const body = { email_address: address, name: 'Example Support', ...more };
  const { id } = (await scene.api('POST', '/inboxes', { key: team.key, body })).body;
  const path = `/inboxes/${id as string}`;
  const call: InboxRig['call'] = (method, below, given = {}) =>
    scene.api(method, `${path}${below}`, { ...given, key: team.key });
  return {
    ...{ id: id as string, address, domain, path, call },
    async arrive(letter) {
      const { mailFrom = 'ada@example.org', to = address } = letter;
      const raw = rawOf({ ...letter, to });
      const emailId = await receiveMail(scene, team, { raw, mailFrom, to: [to] });
      const { body: page } = await call('GET', '/threads?limit=100&folders=inbox,archive,spam,sent,trash');
      for (const thread of page.data as { id: string }[]) {
        const found = await call('GET', `/threads/${thread.id}/emails/${emailId}`);
        if (found.status !== 200) continue;
        return { threadId: thread.id, emailId, path: `/threads/${thread.id}/emails/${emailId}` };
      }
      throw new Error(`the message ${emailId} is in no thread of the inbox`);
    },
    threads: async (query = '') => (await call('GET', `/threads${query}`)).body.data,
  };
}

function rawOf({ from = 'Ada Lovelace <ada@example.org>', to, subject = 'Order 1041', ...rest }: Letter): string {
  const { messageId = `letter-${++letters}@example.org`, headers = [], text = 'Where is it?' } = rest;
  const content = rest.content ?? ['Content-Type: text/plain; charset=utf-8', '', text];
  const head = [`From: ${from}`, `To: ${to ?? ''}`, `Subject: ${subject}`, `Message-ID: <${messageId}>`];
  return [...head, 'Date: Thu, 26 Nov 2026 10:00:00 +0000', ...headers, ...content, ''].join('\r\n');
}
