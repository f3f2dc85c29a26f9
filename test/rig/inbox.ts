import type { ApiAnswer, ApiCall } from './api.ts';
import { createInbox, type Inbox } from './inboxes.ts';
import { receiveMail } from './received-mail.ts';
import type { Scene, Team } from './scene.ts';

export interface WritingInbox extends Omit<Inbox, 'call'> {
  path: string;
  call(method: string, path: string, call?: Omit<ApiCall, 'key'>): Promise<ApiAnswer>;
  /** Receives a message and returns the path of its email. */
  arrive(message: Message): Promise<{ threadId: string; emailId: string; path: string }>;
}

export interface Message {
  from?: string;
  to?: string;
  subject?: string;
  messageId?: string;
  headers?: readonly string[];
  /** The content from the Content-Type header on. */
  content?: readonly string[];
  text?: string;
  mailFrom?: string;
  /** The recipient of the envelope, if it is another. */
  for?: string;
}

let messages = 0;

/** Creates an inbox for writing replies. */
export async function writingInbox(
  scene: Scene,
  team: Team,
  more: Parameters<typeof createInbox>[2] = {},
): Promise<WritingInbox> {
  const inbox = await createInbox(scene, team, more);
  const path = `/inboxes/${inbox.id}`;
  const call: WritingInbox['call'] = (method, below, given = {}) =>
    scene.api(method, `${path}${below}`, { ...given, key: team.key });
  return {
    ...inbox,
    path,
    call,
    async arrive(message) {
      scene.clock.advance(1);
      const { mailFrom = 'ada@example.org', to = inbox.address, for: recipient = inbox.address } = message;
      const raw = buildRaw({ ...message, to });
      const emailId = await receiveMail(scene, team, { raw, mailFrom, to: [recipient] });
      const { body: page } = await call('GET', '/threads?limit=100&folders=inbox,automatic,archive,spam,sent,trash');
      for (const { id: threadId } of page.data as { id: string }[]) {
        const below = `/threads/${threadId}/emails/${emailId}`;
        if ((await call('GET', below)).status === 200) return { threadId, emailId, path: below };
      }
      throw new Error(`the message ${emailId} is in no thread of the inbox`);
    },
  };
}

function buildRaw({ from = 'Ada Lovelace <ada@example.org>', to, subject = 'Order 1041', ...rest }: Message): string {
  const { messageId = `letter-${++messages}@example.org`, headers = [], text = 'Where is it?' } = rest;
  const content = rest.content ?? ['Content-Type: text/plain; charset=utf-8', '', text];
  const head = [`From: ${from}`, `To: ${to ?? ''}`, `Subject: ${subject}`, `Message-ID: <${messageId}>`];
  return [...head, 'Date: Thu, 26 Nov 2026 10:00:00 +0000', ...headers, ...content, ''].join('\r\n');
}
