import { createHash } from 'node:crypto';
import type { ApprovalContent } from '../../../contract/index.ts';
import { invalidFields, Refusal } from '../../../platform/refusal.ts';
import { normalizeAddress, parseMailbox } from '../../../protocol/address/index.ts';
import { headerFault } from '../../../protocol/mime/index.ts';
import type { Ctx, Actor } from '../../../tenancy/access/index.ts';
import { newestOfCall } from './approvals.store.ts';
import type { AudienceSample } from '../../audience/index.ts';
import { getBroadcast, findBroadcast } from '../../campaigns/index.ts';
import { findContactsByKeys, listContactSegments, membersAmong } from '../../audience/index.ts';
import { getDraft, mustFindDraft, inboxNamed } from '../../inbox/index.ts';
import { findTemplate, getTemplate } from '../../templates/index.ts';

/** A call that was validated against the contract. */
export interface ProposedCall {
  operationId: string;
  path: Readonly<Record<string, unknown>>;
  query: Readonly<Record<string, unknown>>;
  header: Readonly<Record<string, unknown>>;
  body: unknown;
}

/** A file that a call names by URL, as it was when the call was made. */
export interface HeldFile {
  /** Place in the body, such as `attachments.0`. */
  field: string;
  url: string;
  bytes: number;
  /** SHA-256 in hexadecimal. */
  sha256: string;
}

/** A call with its files fetched. */
export interface FilledCall {
  files: readonly HeldFile[];
  /** The same call with contents instead of URLs, so that what is sent is what was reviewed. */
  call: ProposedCall;
}

/** Header that identifies repetitions of a call. */
const KEY = 'idempotency-key';

export const readIdempotencyKey = ({ header }: ProposedCall): string | undefined =>
  typeof header[KEY] === 'string' ? header[KEY] : undefined;

/** Headers that operations read; all others differ from call to call. */
const READ = [KEY, 'x-batch-validation'];

export const callText = ({ path, query, header, body }: ProposedCall): string =>
  JSON.stringify({ path, query, header: Object.fromEntries(READ.flatMap((name) => pairIn(header, name))), body });

const pairIn = (header: Readonly<Record<string, unknown>>, name: string): [string, unknown][] =>
  header[name] === undefined ? [] : [[name, header[name]]];

/** Returns the stored form of a call, together with its files. */
export const heldText = (text: string, files: readonly HeldFile[]): string =>
  files.length === 0 ? text : JSON.stringify({ ...(JSON.parse(text) as object), files });

export function readCall(operationId: string, text: string): { call: ProposedCall; files: readonly HeldFile[] } {
  const { files = [], ...call } = JSON.parse(text) as Omit<ProposedCall, 'operationId'> & { files?: HeldFile[] };
  return { call: { ...call, operationId }, files };
}

export const hashCall = (operationId: string, text: string): string =>
  createHash('sha256').update(`${operationId} ${text}`).digest('base64url');

/** Returns the additional headers of a mail in a body. */
export const listHeaders = (mail: unknown): { name: string; value: string }[] => {
  const headers = typeof mail === 'object' && mail !== null ? (mail as { headers?: unknown }).headers : undefined;
  if (typeof headers !== 'object' || headers === null) return [];
  return Object.entries(headers).map(([name, value]) => ({ name, value: String(value) }));
};

/** Throws if a mail in the call has a header that would be refused when it is sent, before a person reviews it. */
export function mustHaveAllowedHeaders({ body }: ProposedCall): void {
  const mails: readonly (readonly [at: string, mail: unknown])[] = Array.isArray(body)
    ? (body as unknown[]).map((mail, i) => [`${i}.`, mail] as const)
    : [['', body]];
  const faults = mails.flatMap(([at, mail]) =>
    listHeaders(mail).flatMap(({ name, value }) => {
      const message = headerFault(name, value);
      return message === undefined ? [] : [{ path: `${at}headers.${name}`, message }];
    }),
  );
  if (faults.length > 0) throw invalidFields(faults);
}

export type Content = Omit<ApprovalContent, 'is_changed'>;

/** Content that a call names and does not contain, at one moment. */
export interface ReviewedCall {
  content: Content;
  /** Size of the content as JSON. */
  bytes: number;
  /** Covers everything that is shown and must be the same when the call is made. */
  hash: string;
  /** When the draft that the call sends or publishes was last changed; null if it sends none. */
  draftAt: number | null;
  /** Samples the recipients of the broadcast that the call sends, to compare with `before`; null if it sends none. */
  sampleRecipients(before: AudienceSample | null): Promise<AudienceSample | null>;
  /** Ids of the objects that are shown, and of those that decide who gets the mail. */
  ids: string[];
}

/** Reads what a person sees of a call before the decision. */
export type ReviewCall = (call: ProposedCall, files: readonly HeldFile[]) => Promise<ReviewedCall>;

/** A call with more content cannot wait, because what is not shown cannot be approved. */
export const CONTENT_BYTES_MAX = 8 * 1024 * 1024;

/**
 * Used instead of an id: a file of contacts may be for any segment, and any change of a contact may add it to a
 * filtered segment.
 */
export const ANY_CONTACTS = 'any contacts';
export const FILTERED = 'contacts of a filter';
/**
 * Used instead of an id: fallbacks, sender name and postal address, which every broadcast contains until it is sent or
 * scheduled.
 */
export const BROADCAST_TEXTS = 'texts of broadcasts';

const ofTemplate = (ctx: Ctx, path: ProposedCall['path']) => getTemplate(ctx, String(path['template']));
const ofBroadcast = (ctx: Ctx, path: ProposedCall['path']) => getBroadcast(ctx, String(path['broadcast_id']));
const ofInbox = (ctx: Ctx, path: ProposedCall['path']) => inboxNamed(ctx, String(path['inbox']));
const ofDraft = (ctx: Ctx, path: ProposedCall['path']) =>
  getDraft(ctx, String(path['inbox']), String(path['draft_id']));

type Named = { id: string };

/** Operations that change what another call may name. */
const NAMED_BY_OPERATION: Readonly<Record<string, (ctx: Ctx, path: ProposedCall['path']) => Promise<Named>>> = {
  updateTemplate: ofTemplate,
  publishTemplate: ofTemplate,
  deleteTemplate: ofTemplate,
  updateBroadcast: ofBroadcast,
  deleteBroadcast: ofBroadcast,
  updateInbox: ofInbox,
  deleteInbox: ofInbox,
  updateInboxDraft: ofDraft,
  deleteInboxDraft: ofDraft,
};

type Filled = (ctx: Ctx, call: ProposedCall) => Promise<string[]>;

/** The filter of another segment may name this one. */
const ofPath: Filled = async (_, { path }) => [FILTERED, String(path['segment']).toLowerCase()];
const ofNew: Filled = async (ctx, { path, body }) => {
  const items: unknown[] = Array.isArray(body) ? body : [body];
  const segments = items.flatMap((item) => {
    const { segments: some } = (item ?? {}) as { segments?: unknown };
    return Array.isArray(some) ? (some as unknown[]) : [];
  });
  const named = segments.map((one) => (typeof one === 'object' && one !== null ? (one as { id?: unknown }).id : one));
  return [
    FILTERED,
    ...[...named, path['segment']].flatMap((one) => (typeof one === 'string' ? [one.toLowerCase()] : [])),
    ...(await segmentsOfKnown(ctx, items)),
  ];
};
/** Returns the segments of the contacts that exist already, which creating them again changes and may subscribe again. */
async function segmentsOfKnown({ store, teamId }: Ctx, items: readonly unknown[]): Promise<string[]> {
  const keys = items.flatMap((item) => {
    const { email } = (item ?? {}) as { email?: unknown };
    const parsed = typeof email === 'string' ? parseMailbox(email) : undefined;
    return parsed?.ok ? [normalizeAddress(parsed.mailbox.address)] : [];
  });
  const known = await findContactsByKeys(store.db, teamId, keys);
  const members = await membersAmong(
    store.db,
    known.map(({ id }) => id),
  );
  return members.map(({ segment_id: id }) => id);
}
const SEGMENTS_MAX = 1000;
/** A changed address or a renewed subscription adds a recipient to every segment of the contact. */
const ofContact: Filled = async (ctx, { path }) => {
  const name = String(path['contact']);
  const found = await there(listContactSegments(ctx, name, { limit: SEGMENTS_MAX }));
  return [FILTERED, ...(found?.data ?? []).map(({ id }) => id)];
};

const ofAutomation: Filled = async () => [ANY_CONTACTS, FILTERED];
const ofTopic: Filled = async (_, { path }) => [FILTERED, String(path['topic_id']).toLowerCase()];

/** Operations that change who gets a broadcast, or text that all broadcasts contain. */
const FILLS: Readonly<Record<string, Filled>> = {
  addContactToSegment: ofPath,
  removeContactFromSegment: ofPath,
  deleteSegment: ofPath,
  createContact: ofNew,
  createContactBatch: ofNew,
  createAudienceContact: ofNew,
  updateContact: ofContact,
  updateAudienceContact: ofContact,
  updateContactTopics: ofContact,
  createContactImport: async () => [ANY_CONTACTS],
  deleteSuppression: async () => [ANY_CONTACTS],
  removeSuppressions: async () => [ANY_CONTACTS],
  // A run of an automation may put its contact into any segment.
  sendEvent: ofAutomation,
  createAutomationRun: ofAutomation,
  retryAutomationRun: ofAutomation,
  skipAutomationStep: ofAutomation,
  retryAutomationRuns: ofAutomation,
  sendEventBatch: ofAutomation,
  createAutomation: ofAutomation,
  updateAutomation: ofAutomation,
  // A condition that names a property or a topic matches other contacts once that is created or deleted.
  createContactProperty: async () => [FILTERED, BROADCAST_TEXTS],
  deleteContactProperty: async () => [FILTERED, BROADCAST_TEXTS],
  updateContactProperty: async () => [BROADCAST_TEXTS],
  createTopic: async () => [FILTERED],
  updateTopic: ofTopic,
  deleteTopic: ofTopic,
  updateTeam: async (_, { body }) =>
    ['sender_name', 'postal_address', 'default_language', 'language_property'].some((field) =>
      Object.hasOwn((body ?? {}) as object, field),
    )
      ? [BROADCAST_TEXTS]
      : [],
};

/** Returns the ids of what the call changes, if a waiting call may name it or be sent to it. */
export async function changedBy(ctx: Ctx, call: ProposedCall): Promise<string[]> {
  const { operationId, path } = call;
  const read = Object.hasOwn(NAMED_BY_OPERATION, operationId) ? NAMED_BY_OPERATION[operationId] : undefined;
  const changed = read && (await there(read(ctx, path)));
  const fills = Object.hasOwn(FILLS, operationId) ? await FILLS[operationId]?.(ctx, call) : undefined;
  return [...(changed ? [changed.id] : []), ...(fills ?? [])];
}

/** Returns null if the object does not exist; the call itself will report that. */
async function there<T>(read: Promise<T>): Promise<T | null> {
  try {
    return await read;
  } catch (error) {
    if (error instanceof Refusal) return null;
    throw error;
  }
}

type Author = { author_grant_id: string | null } | undefined;

/** Finds what a call would change, for the operations whose effect depends on the writer. */
const AUTHOR_BY_OPERATION: Readonly<Record<string, (ctx: Ctx, path: ProposedCall['path']) => Promise<Author>>> = {
  updateBroadcast: ({ store, teamId }, path) => findBroadcast(store.db, teamId, String(path['broadcast_id'])),
  updateTemplate: ({ store, teamId }, path) => findTemplate(store.db, teamId, String(path['template'])),
  updateInboxDraft: async (ctx, path) =>
    (await mustFindDraft(ctx, String(path['inbox']), String(path['draft_id']))).row,
};

/**
 * Returns whether the app is the only writer of what its call changes. A missing object has no writer, and the call
 * itself reports it.
 */
async function isOwnWork(
  ctx: Ctx & { actor: Extract<Actor, { kind: 'oauth_grant' }> },
  { operationId, path }: ProposedCall,
): Promise<boolean> {
  const find = Object.hasOwn(AUTHOR_BY_OPERATION, operationId) ? AUTHOR_BY_OPERATION[operationId] : undefined;
  if (!find) return false;
  try {
    return (await find(ctx, path))?.author_grant_id === ctx.actor.grantId;
  } catch (error) {
    if (error instanceof Refusal) return false;
    throw error;
  }
}

type AppCtx = Ctx & { actor: Extract<Actor, { kind: 'oauth_grant' }> };

/**
 * Reports whether the app has made the same call before and it waits for a decision or is running. A limit that held
 * it may allow it by now, on a new day or because a person has changed the limit: made at once, it would be made again
 * when a person approves the earlier one.
 */
export async function repeatsHeldCall({ store, actor }: AppCtx, call: ProposedCall): Promise<boolean> {
  const callHash = hashCall(call.operationId, callText(call));
  const before = await newestOfCall(store.db, { grantId: actor.grantId, callHash });
  if (!before) return false;
  return before.status === 'running' || (before.status === 'pending' && before.expires_at > store.clock.now());
}

/**
 * Reports whether a call changes nothing but what the app alone has written. Others may send by an alias or a published
 * template, so its deletion is more than that.
 */
export async function changesOwnWork(ctx: AppCtx, call: ProposedCall): Promise<boolean> {
  if (call.operationId !== 'deleteTemplate') return isOwnWork(ctx, call);
  const template = await findTemplate(ctx.store.db, ctx.teamId, String(call.path['template']));
  if (!template || template.alias !== null || template.published_version_id !== null) return false;
  return template.author_grant_id === ctx.actor.grantId;
}
