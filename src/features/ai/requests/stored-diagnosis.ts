import { createHash } from 'node:crypto';
import type { Executor } from '../../../platform/db/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { findDiagnosis, putDiagnosis } from './ai.store.ts';
import type { Diagnosis } from './diagnose.ts';
import type { EmailFacts } from './facts.ts';

/** Stands for the state of an email, and for who says it: another model may say it better. */
export const hashOfState = (facts: EmailFacts, author: string): string =>
  createHash('sha256')
    .update(JSON.stringify([author, facts]))
    .digest('hex');

export interface Stored {
  diagnosis: Diagnosis;
  createdAt: number;
}

/** What was said of this very state. */
export async function storedDiagnosis(
  db: Executor,
  { emailId, stateHash }: { emailId: string; stateHash: string },
): Promise<Stored | undefined> {
  const row = await findDiagnosis(db, emailId);
  if (row?.state_hash !== stateHash) return undefined;
  return { diagnosis: JSON.parse(row.diagnosis) as Diagnosis, createdAt: Number(row.created_at) };
}

export async function keepDiagnosis(
  tx: Executor,
  { store, teamId }: Ctx,
  { emailId, stateHash, diagnosis }: { emailId: string; stateHash: string; diagnosis: Diagnosis },
): Promise<number> {
  const createdAt = store.clock.now();
  await putDiagnosis(tx, {
    ...{ email_id: emailId, team_id: teamId, state_hash: stateHash },
    ...{ diagnosis: JSON.stringify(diagnosis), created_at: createdAt },
  });
  return createdAt;
}
