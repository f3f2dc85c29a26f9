import type { EraseAddressRequest, Erasure } from '../../contract/index.ts';
import { nextTurn } from '../../platform/clock.ts';
import type { Executor, Row, Value } from '../../platform/db/index.ts';
import { firstIdAt } from '../../platform/ids.ts';
import { Refusal, refuse } from '../../platform/refusal.ts';
import type { Store } from '../../platform/store.ts';
import { normalizeAddress, parseMailbox } from '../../protocol/address/index.ts';
import { foldForSearch } from '../../mail/emails/index.ts';
import { eraseEvents, eraseOfEndpoints } from '../../mail/events/index.ts';
import { RAW_BLOB } from '../../mail/received-emails/index.ts';
import { suppressionsAmong } from '../../mail/suppressions/index.ts';
import type { Ctx } from '../../tenancy/access/index.ts';
import { addStorage, lockStorage } from '../../tenancy/usage/index.ts';
import { deleteContact } from '../audience/index.ts';
import { eraseRecipient } from '../campaigns/index.ts';
import {
  changeRows,
  eraseFromInboxes,
  readRows,
  removeFailedImportRows,
  removeRows,
  removeRowsOfOwners,
  searchMail,
} from './erased-mail.store.ts';

/** Stands for an erased address; the name can never get mail (RFC 6761). */
const ERASED = 'erased@erased.invalid';
const ERASED_SUBJECT = '(erased)';

interface Erasing {
  store: Store;
  teamId: string;
  emailKey: string;
}

/**
 * Erases a person by address, email by email, each in one transaction: a call that is interrupted can be repeated. The
 * contact goes last, so that it can be found again until everything else is erased.
 */
export async function eraseAddress(ctx: Ctx, input: EraseAddressRequest): Promise<Erasure> {
  const { store, teamId } = ctx;
  const parsed = parseMailbox(input.email);
  if (!parsed.ok) throw refuse('validation_error', { status: 422, say: `email: ${parsed.fault}` });
  const emailKey = normalizeAddress(parsed.mailbox.address);
  const erasing = { store, teamId, emailKey };
  const counts = { emails: 0, canceled: 0, received_emails: 0, skipped: 0 };
  if (input.with_mail === true) {
    await eraseSent(erasing, counts);
    await eraseReceived(erasing, counts);
    await eraseElsewhere(erasing);
  }
  return {
    object: 'erasure',
    contact: await eraseContact(ctx, emailKey),
    ...counts,
    is_suppressed: (await suppressionsAmong(store.db, [[teamId, emailKey]])).length > 0,
  };
}

async function eraseContact(ctx: Ctx, emailKey: string): Promise<string | null> {
  try {
    return (await deleteContact(ctx, emailKey)).id;
  } catch (error) {
    if (!(error instanceof Refusal) || error.errorName !== 'not_found') throw error;
    // Its recipient rows can outlive a contact whose address was changed.
    await ctx.store.db.tx((tx) => eraseRecipient(tx, ctx.teamId, emailKey));
    return null;
  }
}

const isAddress = (text: string, emailKey: string): boolean => {
  const parsed = parseMailbox(text);
  return normalizeAddress(parsed.ok ? parsed.mailbox.address : text) === emailKey;
};

/** Returns the addresses of a JSON list without the erased one; null stays null. */
function without(list: Value | undefined, emailKey: string): { text: string | null; isChanged: boolean; left: number } {
  if (typeof list !== 'string') return { text: null, isChanged: false, left: 0 };
  const before = JSON.parse(list) as string[];
  const after = before.filter((address) => !isAddress(address, emailKey));
  return { text: JSON.stringify(after), isChanged: after.length < before.length, left: after.length };
}

interface Lists {
  to_list: string;
  cc_list: string | null;
  bcc_list: string | null;
  isChanged: boolean;
  /** The number of other recipients. */
  left: number;
}

function readLists(row: Row, emailKey: string): Lists {
  const to = without(row.to_list, emailKey);
  const cc = without(row.cc_list, emailKey);
  const bcc = without(row.bcc_list, emailKey);
  return {
    // A list of recipients is never empty.
    to_list: to?.left === 0 ? JSON.stringify([ERASED]) : (to?.text ?? '[]'),
    cc_list: cc?.text ?? null,
    bcc_list: bcc?.text ?? null,
    isChanged: [to, cc, bcc].some((list) => list?.isChanged === true),
    left: (to?.left ?? 0) + (cc?.left ?? 0) + (bcc?.left ?? 0),
  };
}

type Counts = Pick<Erasure, 'emails' | 'canceled' | 'received_emails' | 'skipped'>;

async function eachMail(
  { store, teamId, emailKey }: Erasing,
  table: 'emails' | 'received_emails',
  erase: (row: Row) => Promise<void>,
): Promise<void> {
  for (let afterId: string | undefined = firstIdAt(0); afterId !== undefined;) {
    const { rows, lastId } = await searchMail(store.db, table, { teamId, afterId, text: emailKey });
    for (const row of rows) await erase(row);
    afterId = lastId;
    await nextTurn();
  }
}

const eraseSent = (erasing: Erasing, counts: Counts): Promise<void> =>
  eachMail(erasing, 'emails', async (row) => {
    const { store, emailKey } = erasing;
    const lists = readLists(row, emailKey);
    const isSender = isAddress(String(row.sender), emailKey);
    if (!lists.isChanged && !isSender) return;
    const id = String(row.id);
    const isWhole = isSender || lists.left === 0;
    // Nothing of it can be claimed from here on.
    const done = await store.db.tx(async (tx) => {
      const deliveries = await readRows<DeliveryRow>(tx, { table: 'deliveries', key: { email_id: id } });
      if (deliveries.some(({ lease_owner: owner }) => owner !== null)) return undefined;
      const canceled = await cancelFor(tx, deliveries, { emailKey, isWhole });
      if (canceled && isWhole)
        await changeRows(tx, { table: 'emails', key: { id } }, { last_event: 'canceled', scheduled_at: null });
      return { canceled };
    });
    if (!done) {
      counts.skipped += 1;
      return;
    }
    // The files go before the addresses by which a repeated call finds the email.
    if (isWhole) await store.blobs.remove(id);
    await store.db.tx((tx) =>
      isWhole ? eraseWholeEmail(tx, erasing, { row, lists, isSender }) : eraseOneRecipient(tx, erasing, { row, lists }),
    );
    counts.emails += 1;
    if (done.canceled) counts.canceled += 1;
  });

interface DeliveryRow {
  id: string;
  recipients: string;
  lease_owner: string | null;
}

/** Removes what waits for the address; returns whether something did. */
async function cancelFor(
  tx: Executor,
  deliveries: readonly DeliveryRow[],
  { emailKey, isWhole }: { emailKey: string; isWhole: boolean },
): Promise<boolean> {
  let isCanceled = false;
  for (const { id, recipients } of deliveries) {
    const { text, isChanged, left } = without(recipients, emailKey);
    if (!isWhole && !isChanged) continue;
    isCanceled = true;
    const at = { table: 'deliveries', key: { id } };
    if (isWhole || left === 0) await removeRows(tx, at);
    else await changeRows(tx, at, { recipients: text });
  }
  return isCanceled;
}

/** The tables with further rows of an email. */
const BESIDES_AN_EMAIL: readonly [table: string, column: string][] = [
  ['email_messages', 'email_id'],
  ['email_attachments', 'email_id'],
  ['email_tags', 'email_id'],
  ['email_shares', 'email_id'],
  ['ai_diagnoses', 'email_id'],
  ['tracked_clicks', 'email_id'],
  ['delivery_attempts', 'email_id'],
  ['contents', 'owner_id'],
  ['content_files', 'owner_id'],
];

async function eraseWholeEmail(
  tx: Executor,
  { teamId }: Erasing,
  { row, lists, isSender }: { row: Row; lists: Lists; isSender: boolean },
): Promise<void> {
  const id = String(row.id);
  for (const [table, column] of BESIDES_AN_EMAIL) {
    // The key of tags begins with the team.
    if (table === 'email_tags') await removeRows(tx, { table, key: { team_id: teamId, email_id: id } });
    else await removeRows(tx, { table, key: { [column]: id } });
  }
  const noBody = { html: null, text: null, html_in_blob: 0, text_in_blob: 0, shared_body_id: null, merge_values: null };
  await changeRows(tx, { table: 'email_bodies', key: { email_id: id } }, noBody);
  await changeRows(
    tx,
    { table: 'emails', key: { id } },
    {
      sender: isSender ? ERASED : (row.sender ?? ERASED),
      to_list: lists.to_list,
      cc_list: lists.cc_list,
      bcc_list: lists.bcc_list,
      reply_to_list: null,
      subject: ERASED_SUBJECT,
      headers: null,
      tags: null,
      asked: null,
      mail_from: null,
      attachment_count: 0,
      has_message: 0,
      search_text: '',
    },
  );
  await eraseEvents(tx, teamId, id);
  await eraseFromThreads(tx, id);
}

async function eraseOneRecipient(
  tx: Executor,
  { teamId, emailKey }: Erasing,
  { row, lists }: { row: Row; lists: Lists },
): Promise<void> {
  const id = String(row.id);
  const { to_list, cc_list, bcc_list } = lists;
  const searchText = String(row.search_text)
    .split('\n')
    .filter((part) => part !== foldForSearch(emailKey))
    .join('\n');
  await changeRows(tx, { table: 'emails', key: { id } }, { to_list, cc_list, bcc_list, search_text: searchText });
  await eraseFromEvents(tx, { teamId, emailKey, subjectId: id });
  const attempts = await readRows(tx, { table: 'delivery_attempts', key: { email_id: id } });
  for (const attempt of attempts)
    await changeRows(
      tx,
      { table: 'delivery_attempts', key: { email_id: id, id: attempt.id ?? null } },
      { recipients: replaced(attempt.recipients, emailKey), transcript: replaced(attempt.transcript, emailKey) },
    );
  await changeThreadTexts(tx, id, (text) => replaced(text, emailKey));
}

/** Replaces the address in the events of an email that other people have as well. */
async function eraseFromEvents(
  tx: Executor,
  { teamId, emailKey, subjectId }: { teamId: string; emailKey: string; subjectId: string },
): Promise<void> {
  const events = await readRows<{ id: string; data: string | null }>(tx, {
    table: 'events',
    key: { subject_id: subjectId },
  });
  const named = events.filter(({ data }) => data?.toLowerCase().includes(emailKey));
  for (const event of named)
    await changeRows(tx, { table: 'events', key: { id: event.id } }, { data: replaced(event.data, emailKey) });
  await eraseOfEndpoints.call(
    tx,
    teamId,
    named.map((event) => event.id),
  );
}

/** Replaces the address in a text, in any letter case. */
function replaced(text: Value | undefined, emailKey: string): string | null {
  if (typeof text !== 'string') return null;
  const pattern = new RegExp(emailKey.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`), 'gi');
  return text.replaceAll(pattern, ERASED);
}

const TEXTS = ['from_text', 'to_text', 'cc_text', 'bcc_text', 'body_text'] as const;

async function changeThreadTexts(tx: Executor, emailId: string, change: (text: Value) => string | null) {
  const rows = await readRows(tx, { table: 'inbox_emails', key: { email_id: emailId } });
  for (const row of rows) {
    const texts = Object.fromEntries(TEXTS.map((name) => [name, change(row[name] ?? '') ?? '']));
    const key = { inbox_id: row.inbox_id ?? null, email_id: emailId };
    await changeRows(tx, { table: 'inbox_emails', key }, texts);
  }
  return rows;
}

/** Erases what the threads with an erased email show of it. */
async function eraseFromThreads(tx: Executor, emailId: string): Promise<void> {
  const rows = await changeThreadTexts(tx, emailId, () => '');
  for (const { thread_id: threadId = null } of rows) {
    await changeRows(
      tx,
      { table: 'inbox_threads', key: { id: threadId } },
      {
        subject: ERASED_SUBJECT,
        subject_key: '',
        sender: ERASED,
        to_list: '[]',
        cc_list: '[]',
        bcc_list: '[]',
        snippet: '',
        notes: null,
      },
    );
    await changeRows(tx, { table: 'inbox_message_ids', key: { thread_id: threadId } }, { subject: null });
  }
}

const eraseReceived = (erasing: Erasing, counts: Counts): Promise<void> =>
  eachMail(erasing, 'received_emails', async (row) => {
    const { store, teamId, emailKey } = erasing;
    const lists = readLists(row, emailKey);
    const isSender = [row.sender, row.mail_from].some((text) => isAddress(String(text), emailKey));
    if (!lists.isChanged && !isSender) return;
    const id = String(row.id);
    await (isSender ? store.blobs.remove(id) : store.blobs.removeKeys([RAW_BLOB(id)]));
    await store.db.tx(async (tx) => {
      await lockStorage(tx, teamId);
      const { to_list, cc_list, bcc_list } = lists;
      // The source names every recipient, so that it goes in either case.
      const change: Row = { to_list, cc_list, bcc_list, has_raw: 0, ...(isSender ? ERASED_RECEIVED : {}) };
      await changeRows(tx, { table: 'received_emails', key: { id } }, change);
      const body: Row = isSender ? { html: null, text: null, html_in_blob: 0, text_in_blob: 0 } : {};
      const noHeaders = { ...body, headers: null, headers_in_blob: 0 };
      await changeRows(tx, { table: 'received_bodies', key: { received_id: id } }, noHeaders);
      const contents: Row = isSender ? { owner_id: id } : { owner_id: id, name: RAW_BLOB(id).split('/')[1] ?? '' };
      for (const table of ['contents', 'content_files']) await removeRows(tx, { table, key: contents });
      if (!isSender) {
        await eraseFromEvents(tx, { teamId, emailKey, subjectId: id });
        return void (await changeThreadTexts(tx, id, (text) => replaced(text, emailKey)));
      }
      await removeRows(tx, { table: 'received_attachments', key: { received_id: id } });
      await addStorage(tx, teamId, -Number(row.stored_bytes));
      await eraseEvents(tx, teamId, id);
      await eraseFromThreads(tx, id);
    });
    counts.received_emails += 1;
  });

const ERASED_RECEIVED: Row = {
  sender: ERASED,
  sender_key: null,
  subject: ERASED_SUBJECT,
  reply_to_list: null,
  message_id: '',
  mail_from: '',
  client_address: '',
  client_name: '',
  authentication: null,
  fingerprint: null,
  attachment_count: 0,
  stored_bytes: 0,
};

async function eraseElsewhere({ store, teamId, emailKey }: Erasing): Promise<void> {
  const drafts = await store.db.tx(async (tx) => {
    await removeFailedImportRows(tx, { teamId, emailKey });
    const ids = await eraseFromInboxes(tx, { teamId, emailKey });
    for (const [table, column] of BESIDES_A_DRAFT) await removeRowsOfOwners(tx, table, column, ids);
    return ids;
  });
  for (const id of drafts) await store.blobs.remove(id);
}

const BESIDES_A_DRAFT: readonly [table: string, column: string][] = [
  ['inbox_draft_files', 'draft_id'],
  ['contents', 'owner_id'],
  ['content_files', 'owner_id'],
  ['inbox_drafts', 'id'],
];
