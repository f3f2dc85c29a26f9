import { createHash } from 'node:crypto';
import { Refusal } from '../../platform/refusal/index.ts';
import type { Ctx } from '../access/index.ts';
import { getBroadcast } from '../broadcasts/index.ts';
import { getDraft } from '../inbox-drafts/index.ts';
import { inboxNamed } from '../inboxes/index.ts';
import { getTemplate } from '../templates/index.ts';
import type { ProposedCall } from './proposed-call.ts';

const OF_BROADCASTS = new Set(['sendBroadcast', 'testBroadcast']);
const OF_INBOXES = new Set(['replyToInboxEmail', 'forwardInboxEmail', 'sendInboxDraft']);

export interface Seen {
  hash: string;
  /** The ids of what was looked at. */
  ids: string[];
}

/**
 * What a call names and does not hold, as a hash: a person approves what they have looked at, and an app must not put other
 * content in its place meanwhile.
 */
export async function lookAt(ctx: Ctx, { operationId, path, body }: ProposedCall): Promise<Seen> {
  const seen: ({ id: string } | null)[] = [];
  const bodies: readonly unknown[] = Array.isArray(body) ? (body as unknown[]) : [body];
  for (const id of new Set(bodies.flatMap(templateIn))) seen.push(await there(getTemplate(ctx, id)));
  if (operationId === 'publishTemplate') seen.push(await there(ofTemplate(ctx, path)));
  if (OF_BROADCASTS.has(operationId)) {
    const broadcast = await there(getBroadcast(ctx, String(path['broadcast_id'])));
    seen.push(broadcast);
    for (const id of templateIn(broadcast)) seen.push(await there(getTemplate(ctx, id)));
  }
  if (OF_INBOXES.has(operationId)) {
    const inbox = String(path['inbox']);
    seen.push(await there(lookOf(ctx, inbox)));
    if (operationId === 'sendInboxDraft') seen.push(await there(getDraft(ctx, inbox, String(path['draft_id']))));
  }
  const ids = seen.flatMap((one) => (one === null ? [] : [one.id]));
  return { hash: createHash('sha256').update(JSON.stringify(seen)).digest('base64url'), ids };
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

/** The operations that change what another call may name. */
const CHANGED: Readonly<Record<string, (ctx: Ctx, path: ProposedCall['path']) => Promise<{ id: string }>>> = {
  ...{ updateTemplate: ofTemplate, publishTemplate: ofTemplate, deleteTemplate: ofTemplate },
  ...{ updateBroadcast: ofBroadcast, deleteBroadcast: ofBroadcast },
  ...{ updateInbox: ofInbox, deleteInbox: ofInbox },
  ...{ updateInboxDraft: ofDraft, deleteInboxDraft: ofDraft },
};

/** The id of what the call changes, where a call that waits may name it. */
export async function changedBy(ctx: Ctx, { operationId, path }: ProposedCall): Promise<string | undefined> {
  const read = Object.hasOwn(CHANGED, operationId) ? CHANGED[operationId] : undefined;
  return read && (await there(read(ctx, path)))?.id;
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
