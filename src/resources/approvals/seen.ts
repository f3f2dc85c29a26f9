import { createHash } from 'node:crypto';
import { Refusal } from '../../platform/refusal/index.ts';
import type { Ctx } from '../access/index.ts';
import { getBroadcast } from '../broadcasts/index.ts';
import { getTemplate } from '../templates/index.ts';
import type { ProposedCall } from './proposed-call.ts';

const OF_BROADCASTS = new Set(['sendBroadcast', 'testBroadcast']);

/**
 * What a call names and does not hold, as a hash: a person approves what they have looked at, and an app must not put other
 * content in its place meanwhile.
 */
export async function seenBy(ctx: Ctx, { operationId, path, body }: ProposedCall): Promise<string> {
  const seen: unknown[] = [];
  const bodies: readonly unknown[] = Array.isArray(body) ? (body as unknown[]) : [body];
  for (const id of new Set(bodies.flatMap(templateIn))) seen.push(await there(getTemplate(ctx, id)));
  const broadcastId = path['broadcast_id'];
  if (OF_BROADCASTS.has(operationId) && typeof broadcastId === 'string') {
    const broadcast = await there(getBroadcast(ctx, broadcastId));
    seen.push(broadcast);
    for (const id of templateIn(broadcast)) seen.push(await there(getTemplate(ctx, id)));
  }
  return createHash('sha256').update(JSON.stringify(seen)).digest('base64url');
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
