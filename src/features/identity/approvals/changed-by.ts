import { Refusal } from '../../../platform/refusal/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { getBroadcast } from '../../campaigns/broadcasts/index.ts';
import { listContactSegments } from '../../audience/contacts/index.ts';
import { getDraft } from '../../inbox/inbox-drafts/index.ts';
import { inboxNamed } from '../../inbox/inboxes/index.ts';
import { getTemplate } from '../../templates/templates/index.ts';
import { ANY_CONTACTS, BROADCAST_TEXTS, FILTERED } from './looked.ts';
import type { ProposedCall } from './proposed-call.ts';

const ofTemplate = (ctx: Ctx, path: ProposedCall['path']) => getTemplate(ctx, String(path['template']));
const ofBroadcast = (ctx: Ctx, path: ProposedCall['path']) => getBroadcast(ctx, String(path['broadcast_id']));
const ofInbox = (ctx: Ctx, path: ProposedCall['path']) => inboxNamed(ctx, String(path['inbox']));
const ofDraft = (ctx: Ctx, path: ProposedCall['path']) =>
  getDraft(ctx, String(path['inbox']), String(path['draft_id']));

type Named = { id: string };

/** Operations that change what another call may name. */
const CHANGED: Readonly<Record<string, (ctx: Ctx, path: ProposedCall['path']) => Promise<Named>>> = {
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
  createAudienceContact: ofNew,
  updateContact: ofContact,
  updateAudienceContact: ofContact,
  updateContactTopics: ofContact,
  createContactImport: async () => [ANY_CONTACTS],
  // A run of an automation may put its contact into any segment.
  sendEvent: ofAutomation,
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
    ['sender_name', 'postal_address'].some((field) => Object.hasOwn((body ?? {}) as object, field))
      ? [BROADCAST_TEXTS]
      : [],
};

/** Returns the ids of what the call changes, if a waiting call may name it or be sent to it. */
export async function changedBy(ctx: Ctx, call: ProposedCall): Promise<string[]> {
  const { operationId, path } = call;
  const read = Object.hasOwn(CHANGED, operationId) ? CHANGED[operationId] : undefined;
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
