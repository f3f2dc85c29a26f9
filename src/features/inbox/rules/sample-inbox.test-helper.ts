import { createHmac } from 'node:crypto';
import { readMessage } from '../../../protocol/read-message/index.ts';
import { replyAddress } from '../../../protocol/reply-message/index.ts';
import type { Authentication } from '../../../mail/received-emails/index.ts';
import {
  listParticipants,
  readIncomingMail,
  idsToKeep,
  idsToKeepOfSent,
  listIdsToFind,
  chooseSubjectToFind,
  whichThread,
  type IncomingMail,
  type ThreadCandidate,
  type ThreadChoice,
} from './which-thread.ts';

const LIMITS = { depthMax: 20, headerBytesMax: 4 * 1024 * 1024, partsMax: 100 };
export const NOW = Date.UTC(2026, 10, 20);
export const DAY = 86_400_000;
const INBOX = '0190a000-0000-7000-8000-00000000000a';
export const OTHER_INBOX = '0190a000-0000-7000-8000-00000000000b';
const mac = (bytes: Buffer): Buffer => createHmac('sha256', 'a key').update(bytes).digest();
export const strangersMac = (bytes: Buffer): Buffer => createHmac('sha256', 'another').update(bytes).digest();
export const thread = (at: number): string => `0190b000-0000-7000-8000-${String(at).padStart(12, '0')}`;
export const addressed = (at: number, { inboxId = INBOX, now = NOW, by = mac } = {}): string =>
  replyAddress('support@shop.example', { inboxId, threadId: thread(at) }, { now, mac: by }) ?? '';

/** Mail from Ann to the inbox; omitted fields are those of a reply. */
export interface Mail {
  from?: string;
  to?: string;
  cc?: string;
  subject?: string;
  id?: string;
  re?: string;
  refs?: string;
  headers?: string[];
  receivedFor?: string;
  dmarc?: 'pass' | 'fail' | 'none';
  isAutomatic?: boolean;
  bySubject?: boolean;
  inboxId?: string;
  after?: number;
}

const authentication = (result: string): Authentication => ({
  spf: { result: 'none', domain: null },
  dkim: [],
  dmarc: { result, domain: null, policy: 'reject' },
  arc: { result: 'none' },
  verdict: 'pass',
  spam: null,
});

export async function read(mail: Mail): Promise<IncomingMail> {
  const {
    from = 'Ann <ann@home.example>',
    to = 'support@shop.example',
    cc,
    subject = 'Re: Printer',
    id,
    re,
    refs,
  } = mail;
  const fields = [
    `From: ${from}`,
    `To: ${to}`,
    ...(cc === undefined ? [] : [`Cc: ${cc}`]),
    `Subject: ${subject}`,
    ...(id === undefined ? [] : [`Message-ID: ${id}`]),
    ...(re === undefined ? [] : [`In-Reply-To: ${re}`]),
    ...(refs === undefined ? [] : [`References: ${refs}`]),
    ...(mail.headers ?? []),
  ];
  const reading = await readMessage(Buffer.from([...fields, '', 'Hello'].join('\r\n')), LIMITS);
  return readIncomingMail(reading, {
    id: mail.inboxId ?? INBOX,
    addresses: ['Support@Shop.example'],
    receivedFor: [mail.receivedFor ?? 'support@shop.example'],
    authentication: mail.dmarc === undefined ? null : authentication(mail.dmarc),
    isAutomatic: mail.isAutomatic ?? false,
    now: NOW,
    macs: [mac],
  });
}

/** An inbox as the store keeps it. */
export function inMemory() {
  const keys: {
    key: string;
    kind: 'sent' | 'received' | 'referenced';
    threadId: string;
    subject: string | undefined;
  }[] = [];
  const threads = new Map<string, Omit<ThreadCandidate, 'key' | 'keyKind' | 'subjects'> & { subject: string }>();
  const candidate = (threadId: string, key: string | null, kind: ThreadCandidate['keyKind'], subject?: string) => {
    const { subject: first, ...one } = threads.get(threadId)!;
    return { ...one, key, keyKind: kind, subjects: [first, ...(subject === undefined ? [] : [subject])] };
  };
  const add = (threadId: string, inboxId: string, subject: string, people: readonly string[], at: number): void => {
    const known = threads.get(threadId) ?? { threadId, inboxId, participants: new Set(), lastMessageAt: at, subject };
    threads.set(threadId, { ...known, participants: new Set([...known.participants, ...people]), lastMessageAt: at });
  };
  return {
    async arrive(mail: Mail): Promise<{ choice: ThreadChoice; threadId: string }> {
      const incoming = await read(mail);
      const wanted = new Set(listIdsToFind(incoming));
      const candidates: ThreadCandidate[] = [
        ...keys
          .filter(({ key }) => wanted.has(key))
          .map((one) => candidate(one.threadId, one.key, one.kind, one.subject)),
        ...(threads.has(incoming.addressedThread ?? '') ? [candidate(incoming.addressedThread!, null, null)] : []),
        ...(chooseSubjectToFind(incoming) === undefined
          ? []
          : [...threads.keys()].map((one) => candidate(one, null, null))),
      ];
      const at = NOW + (mail.after ?? 0) * DAY;
      const choice = whichThread(incoming, candidates, { bySubject: mail.bySubject ?? false, now: at });
      const threadId = choice.kind === 'thread' ? choice.threadId : thread(threads.size);
      add(threadId, incoming.inboxId, incoming.subject, listParticipants(incoming), at);
      for (const { key, kind } of idsToKeep(incoming)) {
        keys.push({ key, kind, threadId, subject: kind === 'received' ? incoming.subject : undefined });
      }
      return { choice, threadId };
    },
    send(at: number, id: string, subject: string, people: readonly string[]): void {
      add(thread(at), INBOX, subject, people, NOW);
      for (const { key, kind } of idsToKeepOfSent(id, undefined))
        keys.push({ key, kind, threadId: thread(at), subject });
    },
  };
}

export const GUID = '00112233445566778899aabbccddeeff';
export const threadIndex = (guid: string, children = 0): string =>
  Buffer.concat([Buffer.from('01dc5a000000', 'hex'), Buffer.from(guid, 'hex'), Buffer.alloc(children * 5, 7)]).toString(
    'base64',
  );

/** Returns thread 0: Ann asked with Bob in copy, and the inbox replied. */
export async function conversation() {
  const inbox = inMemory();
  const headers = [`Thread-Index: ${threadIndex(GUID)}`];
  await inbox.arrive({ subject: 'Printer', id: '<a1@home.example>', cc: 'bob@home.example', headers });
  inbox.send(0, '<s1@shop.example>', 'Re: Printer', ['ann@home.example']);
  return inbox;
}
