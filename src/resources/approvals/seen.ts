import { createHash } from 'node:crypto';
import { Refusal } from '../../platform/refusal/index.ts';
import type { Ctx } from '../access/index.ts';
import { getBroadcast } from '../broadcasts/index.ts';
import { listContactSegments } from '../contacts/index.ts';
import { getDraft } from '../inbox-drafts/index.ts';
import { inboxNamed } from '../inboxes/index.ts';
import { getSegment } from '../segments/index.ts';
import { getTemplate } from '../templates/index.ts';
import type { HeldFile, ProposedCall } from './proposed-call.ts';

const OF_BROADCASTS = new Set(['sendBroadcast', 'testBroadcast', 'resumeBroadcast']);
const OF_INBOXES = new Set(['replyToInboxEmail', 'forwardInboxEmail', 'sendInboxDraft']);

export interface Seen {
  hash: string;
  /** The ids of what was looked at, and of what decides who gets it. */
  ids: string[];
}

/** Instead of an id: a file of contacts may be for any segment, and whatever changes of a contact may put it into a filtered one. */
const ANY_CONTACTS = 'any contacts';
const FILTERED = 'contacts of a filter';

/**
 * What a call names and does not hold, as a hash: a person approves what they have looked at, and an app must not put other
 * content in its place meanwhile.
 */
export async function lookAt(
  ctx: Ctx,
  { operationId, path, body }: ProposedCall,
  files: readonly HeldFile[],
): Promise<Seen> {
  const seen: ({ id: string } | null)[] = [];
  const segments: string[] = [];
  const bodies: readonly unknown[] = Array.isArray(body) ? (body as unknown[]) : [body];
  for (const id of new Set(bodies.flatMap(templateIn))) seen.push(await there(getTemplate(ctx, id)));
  if (operationId === 'publishTemplate') seen.push(await there(ofTemplate(ctx, path)));
  if (OF_BROADCASTS.has(operationId)) {
    const broadcast = await there(getBroadcast(ctx, String(path['broadcast_id'])));
    seen.push(broadcast);
    for (const id of templateIn(broadcast)) seen.push(await there(getTemplate(ctx, id)));
    if (operationId !== 'testBroadcast') segments.push(...segmentIn(broadcast));
  }
  if (operationId === 'createBroadcast') segments.push(...segmentIn(body));
  if (OF_INBOXES.has(operationId)) {
    const inbox = String(path['inbox']);
    seen.push(await there(lookOf(ctx, inbox)));
    if (operationId === 'sendInboxDraft') seen.push(await there(getDraft(ctx, inbox, String(path['draft_id']))));
  }
  const named = seen.flatMap((one) => (one === null ? [] : [one.id]));
  const text = JSON.stringify(files.length === 0 ? seen : [...seen, files]);
  const ids = [...named, ...(await audienceOf(ctx, segments))];
  return { hash: createHash('sha256').update(text).digest('base64url'), ids };
}

async function audienceOf(ctx: Ctx, segments: readonly string[]): Promise<string[]> {
  const ids: string[] = [];
  for (const named of segments) {
    const segment = await there(getSegment(ctx, named));
    if (segment) ids.push(segment.id, ANY_CONTACTS, ...(segment.filter === null ? [] : [FILTERED]));
  }
  return ids;
}

function segmentIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const { segment_id: segment, audience_id: audience } = value as { segment_id?: unknown; audience_id?: unknown };
  return [segment ?? audience].filter((one): one is string => typeof one === 'string').map((id) => id.toLowerCase());
}

/** Of an inbox, what its mail shows. */
async function lookOf(ctx: Ctx, named: string) {
  const { id, address, receiving_address, name, from_name, signature } = await inboxNamed(ctx, named);
  return { id, address, receiving_address, name, from_name, signature };
}

const ofTemplate = (ctx: Ctx, path: ProposedCall['path']) => getTemplate(ctx, String(path['template']));
const ofBroadcast = (ctx: Ctx, path: ProposedCall['path']) => getBroadcast(ctx, String(path['broadcast_id']));
const ofInbox = (ctx: Ctx, path: ProposedCall['path']) => inboxNamed(ctx, String(path['inbox']));
const ofDraft = (ctx: Ctx, path: ProposedCall['path']) =>
  getDraft(ctx, String(path['inbox']), String(path['draft_id']));

type Named = { id: string };

/** The operations that change what another call may name. */
const CHANGED: Readonly<Record<string, (ctx: Ctx, path: ProposedCall['path']) => Promise<Named>>> = {
  ...{ updateTemplate: ofTemplate, publishTemplate: ofTemplate, deleteTemplate: ofTemplate },
  ...{ updateBroadcast: ofBroadcast, deleteBroadcast: ofBroadcast },
  ...{ updateInbox: ofInbox, deleteInbox: ofInbox },
  ...{ updateInboxDraft: ofDraft, deleteInboxDraft: ofDraft },
};

type Filled = (ctx: Ctx, call: ProposedCall) => Promise<string[]>;

const ofPath: Filled = async (_, { path }) => [String(path['segment']).toLowerCase()];
const ofNew: Filled = async (_, { path, body }) => {
  const { segments } = (body ?? {}) as { segments?: unknown };
  const named = (Array.isArray(segments) ? (segments as unknown[]) : []).map((one) =>
    typeof one === 'object' && one !== null ? (one as { id?: unknown }).id : one,
  );
  return [
    FILTERED,
    ...[...named, path['segment']].flatMap((one) => (typeof one === 'string' ? [one.toLowerCase()] : [])),
  ];
};
const SEGMENTS_MAX = 1000;
/** Its address, or that it wants mail again, is a recipient more of every segment that it is in. */
const ofContact: Filled = async (ctx, { path }) => {
  const name = String(path['contact']);
  const found = await there(listContactSegments(ctx, name, { limit: SEGMENTS_MAX }));
  return [FILTERED, ...(found?.data ?? []).map(({ id }) => id)];
};

/** The operations that change who is in the segment of a broadcast that waits. */
const FILLS: Readonly<Record<string, Filled>> = {
  ...{ addContactToSegment: ofPath, removeContactFromSegment: ofPath, deleteSegment: ofPath },
  ...{ createContact: ofNew, createAudienceContact: ofNew },
  ...{ updateContact: ofContact, updateAudienceContact: ofContact, updateContactTopics: ofContact },
  createContactImport: async () => [ANY_CONTACTS],
};

/** The ids of what the call changes, where a call that waits may name it or be for it. */
export async function changedBy(ctx: Ctx, call: ProposedCall): Promise<string[]> {
  const { operationId, path } = call;
  const read = Object.hasOwn(CHANGED, operationId) ? CHANGED[operationId] : undefined;
  const changed = read && (await there(read(ctx, path)));
  const fills = Object.hasOwn(FILLS, operationId) ? await FILLS[operationId]?.(ctx, call) : undefined;
  return [...(changed ? [changed.id] : []), ...(fills ?? [])];
}

function templateIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const { template, template_id: id } = value as { template?: { id?: unknown } | null; template_id?: unknown };
  return [template?.id, id].filter((one): one is string => typeof one === 'string');
}

/** What is not there is nothing to see, and the call itself will say so. */
async function there<T>(read: Promise<T>): Promise<T | null> {
  try {
    return await read;
  } catch (error) {
    if (error instanceof Refusal) return null;
    throw error;
  }
}
