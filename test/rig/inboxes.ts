import type { StoredFolder } from '../../src/features/inbox/store/rows.ts';
import { insertThread } from '../../src/features/inbox/store/threads.store.ts';
import type { ApiAnswer } from './api.ts';
import { createReceivingDomain } from './mx.ts';
import { receiveMail } from './received-mail.ts';
import type { Scene, Team } from './scene.ts';

export interface Inbox {
  id: string;
  address: string;
  domain: { id: string; name: string };
  /** Calls a route below `/inboxes/{inbox}`. */
  call(method: string, path: string, body?: unknown): Promise<ApiAnswer>;
  /** Receives a message for it and returns its id. */
  receive(letter?: Letter): Promise<string>;
  /** Returns the threads of a list, without the page. */
  threads(query?: string): Promise<ThreadItem[]>;
}

export interface Letter {
  from?: string;
  to?: string;
  cc?: string;
  subject?: string;
  id?: string;
  text?: string;
  headers?: readonly string[];
  for?: readonly string[];
  mailFrom?: string;
  /** The content from the Content-Type header on. */
  content?: readonly string[];
}

export interface ThreadItem {
  id: string;
  subject: string | null;
  email_count: number;
  folder: string;
  read: boolean;
  matched_email_id?: string;
}

let letters = 0;

/** Returns a message as a mail program writes it. */
export function buildLetter(address: string, letter: Letter = {}): string {
  const { from = 'Ada Lovelace <ada@example.org>', to = address, cc, subject = 'A question', headers = [] } = letter;
  return [
    `From: ${from}`,
    `To: ${to}`,
    ...(cc === undefined ? [] : [`Cc: ${cc}`]),
    `Subject: ${subject}`,
    `Message-ID: <${letter.id ?? `letter-${++letters}@example.org`}>`,
    ...headers,
    ...(letter.content ?? ['Content-Type: text/plain; charset=utf-8', '', letter.text ?? 'Does it work?']),
    '',
  ].join('\r\n');
}

/** Creates an inbox of the team on a domain that receives. */
export async function createInbox(
  scene: Scene,
  team: Team,
  {
    local = 'support',
    domain: given,
    ...more
  }: { local?: string; domain?: Inbox['domain']; [field: string]: unknown } = {},
): Promise<Inbox> {
  const domain = given ?? (await createReceivingDomain(scene, team));
  const address = `${local}@${domain.name}`;
  const created = await scene.api('POST', '/inboxes', { key: team.key, body: { email_address: address, ...more } });
  if (created.status !== 201) throw new Error(`the inbox was refused: ${JSON.stringify(created.body)}`);
  const { id } = created.body as { id: string };
  const call = (method: string, path: string, body?: unknown) =>
    scene.api(method, `/inboxes/${id}${path}`, { key: team.key, ...(body === undefined ? {} : { body }) });
  return {
    id,
    address,
    domain,
    call,
    receive: async (letter = {}) => {
      scene.clock.advance(1);
      const to = letter.for ?? [address];
      return receiveMail(scene, team, {
        raw: buildLetter(address, letter),
        to,
        mailFrom: letter.mailFrom ?? 'someone@example.org',
      });
    },
    threads: async (query = '') => (await call('GET', `/threads${query}`)).body.data as ThreadItem[],
  };
}

/** Begins threads of one email each, without their mail; returns their ids, oldest first. */
export async function plantThreads(
  scene: Scene,
  { id: inboxId }: { id: string },
  { id: teamId }: { id: string },
  mails: readonly { subject: string; from: string; folder?: StoredFolder }[],
): Promise<string[]> {
  const { db, ids } = scene.app.world;
  const threadIds: string[] = [];
  await db.tx(async (tx) => {
    for (const { subject, from, folder = 'inbox' } of mails) {
      scene.clock.advance(1);
      const id = ids.uuid();
      await insertThread(
        tx,
        { id, folder },
        {
          inboxId,
          teamId,
          emailId: ids.uuid(),
          direction: 'inbound',
          at: scene.clock.now(),
          from,
          to: [],
          cc: [],
          bcc: [],
          subject,
          subjectKey: subject,
          text: '',
          fileNames: [],
          keys: [],
          participants: [],
        },
      );
      threadIds.push(id);
    }
  });
  return threadIds;
}

export async function runJob(scene: Scene, name: string): Promise<void> {
  const job = scene.app.jobs.find((one) => one.name === name);
  if (!job) throw new Error(`there is no job named ${name}`);
  await job.run();
}
