import type { StoredForInboxes } from '../../../mail/receive/index.ts';
import { recordEvents, type InboxEmailData, type NewEvent } from '../../../mail/events/index.ts';
import { isoTime } from '../../../platform/clock.ts';
import type { Executor } from '../../../platform/db/index.ts';
import type { Store } from '../../../platform/store.ts';
import { normalizeAddress } from '../../../protocol/address/index.ts';
import { isFromMachine, isWrittenByMachine, machineSigns } from '../../../protocol/automatic-mail.ts';
import {
  addToThread,
  candidateAddressed,
  candidatesByIds,
  candidatesBySubject,
  hasSent,
  insertThread,
  labelsOfThreads,
  lockThread,
} from '../store/threads.store.ts';
import { inboxesAt, noteReceived } from '../store/inboxes.store.ts';
import { threadData } from '../store/present.ts';
import type { InboxMail, InboxRow, StoredFolder, ThreadRow } from '../store/rows.ts';
import { listInboxKeys } from '../inboxes.ts';
import {
  readList,
  type Authentication,
  type DroppedReason,
  type NewReceivedEmail,
} from '../../../mail/received-emails/index.ts';
import {
  BY_SUBJECT_DAYS,
  idsToKeep,
  listIdsToFind,
  listParticipants,
  readIncomingMail,
  subjectToKeep,
  chooseSubjectToFind,
  whichThread,
  type IncomingMail,
} from '../rules/which-thread.ts';

/** Mail that is shown to nobody, or that the team does not want. */
const KEPT_OUT: readonly (DroppedReason | null)[] = ['virus', 'inbound_rule', 'account_mail'];

/** Puts messages into the threads of the inboxes that they were sent to, in the transaction that stores them. */
export async function putIntoThreads(store: Store, tx: Executor, messages: readonly StoredForInboxes[]): Promise<void> {
  const wanted = messages.filter(({ rows }) => !KEPT_OUT.includes(rows.email.dropped_reason));
  for (const [teamId, theirs] of Map.groupBy(wanted, ({ rows }) => rows.email.team_id)) {
    const keys = new Map(theirs.map((one) => [one, readList(one.rows.email.received_for).map(listInboxKeys)]));
    const inboxes = await inboxesAt(tx, teamId, [...new Set([...keys.values()].flat(2))]);
    if (inboxes.length === 0) continue;
    for (const one of theirs) {
      for (const inbox of findInboxes(inboxes, keys.get(one) ?? [])) await putIntoThread(store, tx, inbox, one);
    }
  }
}

/**
 * Returns the inboxes of a message: each address goes to its own inbox, or else to that of its domain; a message to two
 * inboxes goes to both.
 */
function findInboxes(inboxes: readonly InboxRow[], addresses: readonly string[][]): Set<InboxRow> {
  const found = addresses.flatMap((keys) => {
    const key = keys.find((one) => inboxes.some((inbox) => isAt(inbox, one)));
    return inboxes.filter((inbox) => key !== undefined && isAt(inbox, key));
  });
  return new Set(found);
}

const isAt = (inbox: InboxRow, key: string): boolean => inbox.address_key === key || inbox.receiving_address === key;

async function putIntoThread(
  store: Store,
  tx: Executor,
  inbox: InboxRow,
  { rows, about }: StoredForInboxes,
): Promise<void> {
  const { email } = rows;
  // The inbox may be deleted concurrently.
  if (!(await noteReceived(tx, inbox.id, email.created_at))) return;
  const authentication = email.authentication === null ? null : (JSON.parse(email.authentication) as Authentication);
  const isSpam = authentication?.verdict === 'suspicious';
  const addresses = [inbox.address, ...(inbox.receiving_address === null ? [] : [inbox.receiving_address])];
  const ownAddresses = new Set(addresses.map(normalizeAddress));
  const signs = machineSigns(about.reading, { mailFrom: about.mailFrom, ownAddresses });
  const incoming = readIncomingMail(about.reading, {
    id: inbox.id,
    addresses,
    receivedFor: readList(email.received_for),
    authentication,
    isAutomatic: isWrittenByMachine(signs),
    now: email.created_at,
    macs: [(bytes: Uint8Array) => store.secrets.mac(REPLY_ADDRESS, bytes), ...store.secrets.otherMacs(REPLY_ADDRESS)],
  });
  const mail = buildInboxMail(inbox, { rows, about }, incoming);
  // Mail that may be forged joins no thread.
  const threadId = isSpam ? undefined : await threadFor(tx, inbox, incoming, email.created_at);
  const thread = threadId === undefined ? undefined : await lockThread(tx, inbox.id, threadId);
  const isMachines = isFromMachine(signs, about.reading);
  const folder = isSpam ? 'spam' : await chooseFolder(tx, thread, isMachines);
  const now = thread
    ? await addToThread(tx, thread, mail, folder)
    : await insertThread(tx, { id: store.ids.uuid(), folder }, mail);
  await recordEvents(tx, store.ids, await buildEvents(tx, { before: thread, now }, rows));
}

/**
 * Returns the folder of a thread after new mail. Mail of machines stays apart until a person writes in the thread, or
 * somebody moves it.
 */
async function chooseFolder(tx: Executor, thread: ThreadRow | undefined, isMachines: boolean): Promise<StoredFolder> {
  if (thread?.folder === 'spam') return 'spam';
  if (!isMachines) return 'inbox';
  if (thread === undefined || thread.folder === 'automatic') return 'automatic';
  const isPutAway = thread.folder === 'archive' || thread.folder === 'trash';
  return isPutAway && !(await hasSent(tx, thread.id)) ? 'automatic' : 'inbox';
}

/** Purpose of the key that signs reply addresses. */
const REPLY_ADDRESS = 'inbox reply address';

async function threadFor(
  tx: Executor,
  inbox: InboxRow,
  incoming: IncomingMail,
  now: number,
): Promise<string | undefined> {
  // An agent who replies from another program takes part in every thread.
  const sender = incoming.ownAddresses.has(incoming.from) ? undefined : incoming.from;
  const { addressedThread } = incoming;
  const bySubject = inbox.thread_by_subject === 1;
  const subjectKey = bySubject && sender !== undefined ? chooseSubjectToFind(incoming) : undefined;
  const since = now - BY_SUBJECT_DAYS * 86_400_000;
  const candidates = [
    ...(await candidatesByIds(tx, inbox.id, { keys: listIdsToFind(incoming), sender })),
    ...(addressedThread === undefined
      ? []
      : await candidateAddressed(tx, inbox.id, { threadId: addressedThread, sender })),
    ...(subjectKey === undefined || sender === undefined
      ? []
      : await candidatesBySubject(tx, inbox.id, { sender, subjectKey, since })),
  ];
  const choice = whichThread(incoming, candidates, { bySubject, now });
  return choice.kind === 'thread' ? choice.threadId : undefined;
}

function buildInboxMail(inbox: InboxRow, { rows, about }: StoredForInboxes, incoming: IncomingMail): InboxMail {
  const { email, attachments } = rows;
  return {
    inboxId: inbox.id,
    teamId: email.team_id,
    emailId: email.id,
    direction: 'inbound',
    at: email.created_at,
    from: email.sender,
    to: readList(email.to_list),
    cc: readList(email.cc_list),
    bcc: readList(email.bcc_list),
    subject: email.subject,
    // No content of dropped mail is kept.
    text: email.dropped_reason === null ? about.text : '',
    fileNames: attachments.map(({ filename }) => filename ?? ''),
    keys: idsToKeep(incoming),
    participants: listParticipants(incoming),
    subjectKey: subjectToKeep(email.subject),
  };
}

/** Returns the events of a received email. The email is their subject, so that they are erased with it. */
async function buildEvents(
  tx: Executor,
  { before, now }: { before: ThreadRow | undefined; now: ThreadRow },
  { email, attachments }: NewReceivedEmail,
): Promise<NewEvent[]> {
  const data: InboxEmailData = {
    ...threadData('system', now, before ? await labelsOfThreads(tx, [now.id]) : []),
    email_id: email.id,
    email: {
      id: email.id,
      direction: 'inbound',
      from: email.sender,
      to: readList(email.to_list),
      cc: readList(email.cc_list),
      bcc: readList(email.bcc_list),
      reply_to: readList(email.reply_to_list),
      subject: email.subject === '' ? null : email.subject,
      message_id: email.message_id === '' ? null : email.message_id,
      attachments: attachments.map(({ id, filename, size }) => ({ id, filename, size })),
      read: false,
      received_at: isoTime(email.created_at),
    },
  };
  const envelope = { teamId: email.team_id, subjectId: email.id, at: email.created_at };
  const received: NewEvent = { ...envelope, type: 'inbox.email.received', data };
  return before ? [received] : [{ ...envelope, type: 'inbox.thread.created', data }, received];
}
