import type { OperationValidators } from '../../contract/index.ts';
import { fetchFilesOf, lookAt } from '../../features/identity/approval-review/index.ts';
import { checksItsOwnBody, type OperationCtx, type OperationCtxFor } from '../../operations/index.ts';
import { refuse, Refusal } from '../../platform/refusal/index.ts';
import type { World } from '../../platform/world/index.ts';
import { admissionOf, asksForWriter, effectOf, type Actor, type Ctx } from '../../tenancy/access/index.ts';
import { isOwnWork, mustLeaveWhatWaits, proposeCall } from '../../features/identity/approvals/index.ts';
import type { CheckedRequest } from './checked-request.ts';
import { pages } from './pages.ts';

/**
 * Keeps an app to the limits of its grant, whichever port it comes through: refuses what is beyond one, and holds what a person
 * has to approve. Undefined where it may go on.
 */
export async function heldBack(
  operation: OperationValidators,
  { caller, body, parameters: { path, query, header } }: CheckedRequest,
  ctxOf: () => OperationCtxFor[keyof OperationCtxFor],
): Promise<{ answered: unknown } | undefined> {
  if (caller?.actor.kind !== 'oauth_grant') return undefined;
  const { actor } = caller;
  const { operationId, method } = operation;
  const checksItself = checksItsOwnBody.has(operationId);
  if (checksItself) operation.variants.normalizeBody(body.value);
  const call = { operationId, path, query, header, body: body.value };
  const isOwn = asksForWriter(operation) && (await isOwnWork({ ...(ctxOf() as Ctx), actor }, call));
  const admission = admissionOf(actor.limits, effectOf(operation, body.value, { isOwn }));
  if (admission instanceof Refusal) throw admission;
  // Nothing of such an app waits, or it changes nothing.
  if (admission === 'may' && (actor.limits.approval === 'none' || method === 'get')) return undefined;
  const ctx = { ...(ctxOf() as Ctx), actor: actor satisfies Actor };
  if (admission === 'may') {
    await mustLeaveWhatWaits(ctx, call);
    return undefined;
  }
  if (Object.hasOwn(pages, operationId)) {
    throw refuse('invalid_permission', {
      say: 'This needs the approval of a person (approval of its grant), and a call with a file cannot wait for one.',
    });
  }
  // A person sees a call that can be made: a batch that waits has no entry at fault, even where a permissive one would send the others.
  if (checksItself) (ctx as Ctx & Pick<OperationCtx, 'checkBody'>).checkBody('sendBatch', body.value);
  const inWorld = ctx as typeof ctx & Ctx<World>;
  const { files } = await fetchFilesOf(inWorld, call);
  return proposeCall(inWorld, call, { files, look: (one, held) => lookAt(inWorld, one, held) });
}
