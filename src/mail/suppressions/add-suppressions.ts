import { invalidFields, type FieldFault } from '../../platform/refusal/index.ts';
import { parseMailbox } from '../../protocol/address/index.ts';
import type { Ctx } from '../../tenancy/access/index.ts';
import { suppress } from './suppress.ts';

interface Added {
  object: 'suppression';
  id: string;
}

export async function createSuppression(ctx: Ctx, input: { email: string }): Promise<Added> {
  const [added] = await addManually(ctx, [readAddress(input.email, 'email')]);
  if (!added) throw new Error('suppress answers a row for every address');
  return added;
}

export async function addSuppressions(ctx: Ctx, input: { emails: string[] }): Promise<{ data: Added[] }> {
  const read = input.emails.map((email, i) => readAddress(email, `emails.${i}`));
  return { data: await addManually(ctx, read) };
}

async function addManually(ctx: Ctx, read: (string | FieldFault)[]): Promise<Added[]> {
  const faults = read.filter((entry) => typeof entry !== 'string');
  if (faults.length > 0) throw invalidFields(faults);
  const emails = read.filter((entry) => typeof entry === 'string');
  const rows = await ctx.store.db.tx((tx) =>
    suppress(
      ctx.store,
      tx,
      ctx.teamId,
      emails.map((email) => ({ email, origin: 'manual' as const, sourceId: null })),
    ),
  );
  return rows.map((row) => ({ object: 'suppression', id: row.id }));
}

/** A bare address; a display name has no place in a list of addresses. */
function readAddress(text: string, path: string): string | FieldFault {
  const parsed = parseMailbox(text);
  if (!parsed.ok) return { path, message: `${path}: ${parsed.fault}` };
  if (parsed.mailbox.name !== '') return { path, message: `${path} must be an address without a name.` };
  return parsed.mailbox.address;
}
