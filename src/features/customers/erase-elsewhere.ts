import { nextTurn } from '../../platform/clock.ts';
import type { Executor, Row } from '../../platform/db/index.ts';
import type { Store } from '../../platform/store.ts';
import { openContent } from '../../mail/contents/index.ts';
import { eraseEvents, eraseOfEndpoints } from '../../mail/events/index.ts';
import { markerText } from '../../tenancy/logs/index.ts';
import { importBlob, importsWithFile, removeImportFile } from '../audience/index.ts';
import { listToldEvents } from '../webhooks/index.ts';
import {
  ERASED,
  findCommonPart,
  hasAddress,
  isAddress,
  replaceAddress,
  replaceInJson,
  replaceInText,
  replaceInUrls,
  replaceMailbox,
} from './address-in-text.ts';
import {
  changeRows,
  eraseParticipant,
  lockUnsentDraft,
  readRows,
  removeRows,
  removeRowsOfOwners,
  searchLinks,
  searchTeamTable,
  unsentDrafts,
  valuesOfImports,
} from './erased-mail.store.ts';
import { eachRowWith, isInRow, type ErasureCounts } from './erasure-report.ts';
import { findShape, loadShapes } from './team-rows.store.ts';

export interface Erasing {
  store: Store;
  teamId: string;
  emailKey: string;
  erased: ErasureCounts;
}

/** Changes rows, and counts them as erased. */
export async function change(
  tx: Executor,
  { erased }: Pick<Erasing, 'erased'>,
  at: { table: string; key: Row },
  values: Row,
): Promise<void> {
  erased.change(at.table, at.key, await changeRows(tx, at, values));
}

/** Removes rows, and counts them as erased. */
export async function remove(
  tx: Executor,
  { erased }: Pick<Erasing, 'erased'>,
  at: { table: string; key: Row },
): Promise<void> {
  erased.remove(at.table, await removeRows(tx, at));
}

/** Erases the address outside of the mail to and from it. Returns how many drafts were erased, and what was left for later. */
export async function eraseElsewhere(erasing: Erasing): Promise<{ drafts: number; openImports: number }> {
  await eraseImportValues(erasing);
  const openImports = await eraseImportFiles(erasing);
  const drafts = await eraseDrafts(erasing);
  await eraseCaptured(erasing);
  await eraseLinks(erasing);
  await eraseApprovals(erasing);
  await eraseOtherEvents(erasing);
  await eraseLogs(erasing);
  return { drafts, openImports };
}

/** Removes what the reports about imports have of the address. */
const eraseImportValues = (erasing: Erasing): Promise<void> =>
  erasing.store.db.tx(async (tx) => {
    for (const { table, key, value } of await valuesOfImports(tx, erasing.teamId)) {
      if (replaceMailbox(value, erasing.emailKey) !== value) await remove(tx, erasing, { table, key });
    }
  });

/** Removes the files of imports that have the address; returns how many are still being read, and stay. */
async function eraseImportFiles({ store, teamId, emailKey, erased }: Erasing): Promise<number> {
  let open = 0;
  for (const { id, hasEnded } of await importsWithFile(store.db, teamId)) {
    const file = await openContent(store, importBlob(id));
    if (!file || !(await hasAddressIn(file.content as AsyncIterable<Uint8Array>, emailKey))) continue;
    if (hasEnded) {
      await removeImportFile(store, id);
      erased.change('contact_imports', { id }, 1);
    } else open += 1;
  }
  return open;
}

/** An address is at most 254 bytes: this much of a piece is searched again with the next one. */
const OVERLAP = 600;

/** Reports whether a file of text has the address. */
async function hasAddressIn(content: AsyncIterable<Uint8Array>, emailKey: string): Promise<boolean> {
  const part = findCommonPart(emailKey);
  let decoder: InstanceType<typeof TextDecoder> | undefined;
  let text = '';
  const isIn = (): boolean => text.toLowerCase().includes(part) && replaceAddress(text, emailKey) !== text;
  for await (const piece of content) {
    decoder ??= new TextDecoder(detectEncoding(piece));
    text = text.slice(-OVERLAP) + decoder.decode(piece, { stream: true });
    if (isIn()) return true;
    await nextTurn();
  }
  text += decoder?.decode() ?? '';
  return isIn();
}

function detectEncoding([first, second]: Uint8Array): string {
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  return first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8';
}

/** Erases unsent drafts to the address; one to other people as well only loses the address. */
async function eraseDrafts(erasing: Erasing): Promise<number> {
  const { store, teamId, emailKey, erased } = erasing;
  let drafts = 0;
  const gone = await store.db.tx(async (tx) => {
    erased.remove('inbox_participants', await eraseParticipant(tx, { teamId, emailKey }));
    const ids: string[] = [];
    for (const { id, ...lists } of await unsentDrafts(tx, teamId)) {
      if (!readDraft(lists, emailKey).isChanged) continue;
      const draft = await lockUnsentDraft(tx, id);
      const { isChanged, left, ...kept } = readDraft(draft ?? {}, emailKey);
      if (!isChanged) continue;
      drafts += 1;
      if (left > 0) {
        await change(tx, erasing, { table: 'inbox_drafts', key: { id } }, kept);
        await eraseFromEvents(tx, erasing, id);
        continue;
      }
      erased.remove('events', await eraseEvents(tx, teamId, id));
      ids.push(id);
    }
    for (const [table, column] of BESIDES_A_DRAFT)
      erased.remove(table, await removeRowsOfOwners(tx, table, column, ids));
    return ids;
  });
  for (const id of gone) await store.blobs.remove(id);
  return drafts;
}

const BESIDES_A_DRAFT: readonly [table: string, column: string][] = [
  ['inbox_draft_files', 'draft_id'],
  ['contents', 'owner_id'],
  ['content_files', 'owner_id'],
  ['inbox_drafts', 'id'],
];

/** Returns the addresses of a JSON list without the erased one; null stays null. */
export function without(list: unknown, emailKey: string): { text: string | null; isChanged: boolean; left: number } {
  if (typeof list !== 'string') return { text: null, isChanged: false, left: 0 };
  const before = JSON.parse(list) as string[];
  const after = before.filter((address) => !isAddress(address, emailKey));
  return { text: JSON.stringify(after), isChanged: after.length < before.length, left: after.length };
}

/**
 * Returns the lists of a draft without the address, and the number of its other recipients. A reply that names no
 * recipient goes to the sender of the mail, whose address is erased by then.
 */
function readDraft(row: Row, emailKey: string) {
  const implied = row.to_list === null && typeof row.replies_to === 'string' ? row.replies_to : undefined;
  const to = without(row.to_list, emailKey);
  const cc = without(row.cc_list, emailKey);
  const bcc = without(row.bcc_list, emailKey);
  return {
    to_list: to.text,
    cc_list: cc.text ?? '[]',
    bcc_list: bcc.text ?? '[]',
    isChanged: to.isChanged || cc.isChanged || bcc.isChanged || implied === ERASED,
    left: to.left + cc.left + bcc.left + (implied !== undefined && implied !== ERASED ? 1 : 0),
  };
}

/** Replaces the address in the events of a subject that other people have as well. */
export async function eraseFromEvents(tx: Executor, erasing: Erasing, subjectId: string): Promise<void> {
  const events = await readRows<{ id: string; data: string | null }>(tx, {
    table: 'events',
    key: { subject_id: subjectId },
  });
  const ids: string[] = [];
  for (const { id, data } of events) {
    const replaced = data === null ? null : replaceInJson(data, erasing.emailKey);
    if (replaced === null || replaced === JSON.stringify(JSON.parse(data ?? ''))) continue;
    await change(tx, erasing, { table: 'events', key: { id } }, { data: replaced });
    ids.push(id);
  }
  await eraseOfEndpoints.call(tx, erasing.teamId, ids);
}

/** Removes mail to and from the address that development captured. */
const eraseCaptured = (erasing: Erasing): Promise<void> =>
  eachRowWith(erasing, 'playground_messages', async ({ id = null }) => {
    await erasing.store.blobs.remove(String(id));
    await erasing.store.db.tx(async (tx) => {
      for (const table of ['contents', 'content_files']) await remove(tx, erasing, { table, key: { owner_id: id } });
      await remove(tx, erasing, { table: 'playground_messages', key: { id } });
    });
  });

/** Replaces the address in clicked links of broadcasts, which have it if a link names its recipient. */
async function eraseLinks(erasing: Erasing): Promise<void> {
  const { store, teamId, emailKey } = erasing;
  for (const { url, ...key } of await searchLinks(store.db, { teamId, text: findCommonPart(emailKey) })) {
    const replaced = replaceInUrls(url, emailKey);
    if (replaced === url) continue;
    await store.db.tx((tx) => change(tx, erasing, { table: 'broadcast_links', key }, { url: replaced }));
  }
}

/** Calls that are made as they were asked for, once a person has approved them. */
const WAITING = ['pending', 'running'];

/** Replaces the address in decided calls of apps. */
async function eraseApprovals(erasing: Erasing): Promise<void> {
  const { store, teamId, emailKey } = erasing;
  const shape = findShape(await loadShapes(store.db), 'approvals');
  const rows = await searchTeamTable(store.db, shape, { teamId, text: findCommonPart(emailKey) });
  for (const row of rows) {
    if (WAITING.includes(String(row.status)) || !isInRow(row, emailKey)) continue;
    const texts = ['call', 'about', 'result', 'error'].map((name) => [name, replaceInValue(row[name], emailKey)]);
    const at = { table: 'approvals', key: { id: row.id ?? null } };
    await store.db.tx((tx) => change(tx, erasing, at, Object.fromEntries(texts) as Row));
  }
}

const replaceInValue = (value: unknown, emailKey: string): string | null =>
  typeof value === 'string' ? replaceInText(value, emailKey) : null;

/**
 * Replaces the address in events that are no email's: of suppressions, of inboxes. An event that tells endpoints which
 * contact was erased is kept if it has one to tell, and loses all personal data otherwise.
 */
const eraseOtherEvents = (erasing: Erasing): Promise<void> =>
  eachRowWith(erasing, 'events', async ({ id = null, type, data }) => {
    const { store, teamId, emailKey } = erasing;
    await store.db.tx(async (tx) => {
      const isTold = type === 'contact.deleted' && (await listToldEvents(tx, teamId, [String(id)])).size > 0;
      if (isTold) return;
      const at = { table: 'events', key: { id } };
      const erasedData = type === 'contact.deleted' ? stripContact(String(data)) : replaceInValue(data, emailKey);
      await change(tx, erasing, at, { data: erasedData });
      await eraseOfEndpoints.call(tx, teamId, [String(id)]);
    });
  });

const stripContact = (data: string): string =>
  JSON.stringify({ ...(JSON.parse(data) as object), email: ERASED, first_name: null, last_name: null });

/** Erases what the last event of a contact says about it, unless an endpoint is told. */
export async function eraseLastEvent(erasing: Erasing, contactId: string): Promise<void> {
  const { store, teamId } = erasing;
  await store.db.tx(async (tx) => {
    const rows = await readRows<{ id: string; data: string }>(tx, { table: 'events', key: { subject_id: contactId } });
    const told = await listToldEvents(
      tx,
      teamId,
      rows.map(({ id }) => id),
    );
    for (const { id, data } of rows) {
      if (!told.has(id)) await changeRows(tx, { table: 'events', key: { id } }, { data: stripContact(data) });
    }
  });
}

/**
 * Replaces the address in the paths of logged requests. A body that has it is removed as a whole, because it may also have
 * what was written to or by the person.
 */
const eraseLogs = (erasing: Erasing): Promise<void> =>
  eachRowWith(
    erasing,
    'request_logs',
    async ({ id = null, endpoint, request_body: request, response_body: response }) => {
      const { store, teamId, emailKey } = erasing;
      const at = { table: 'request_logs', key: { team_id: teamId, id } };
      const values = {
        endpoint: replaceInUrls(String(endpoint), emailKey),
        request_body: eraseBody(request, emailKey),
        response_body: eraseBody(response, emailKey),
      };
      await store.db.tx((tx) => change(tx, erasing, at, values));
    },
  );

function eraseBody(body: unknown, emailKey: string): string | null {
  if (typeof body !== 'string') return null;
  return hasAddress(body, emailKey) ? markerText({ redacted: true, bytes: Buffer.byteLength(body) }) : body;
}
