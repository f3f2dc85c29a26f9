import type { World } from '../../../platform/world/index.ts';
import { noteProviderFault, type ConnectionRow, type ProviderStep } from '../../../tenancy/sso-rows/index.ts';
import { ProviderFault } from './provider-fault.ts';

/** Of what a provider said, which is shown in terminals. */
const SAID_CHARS_MAX = 300;

/** Writes down what of the provider fails, for the findings of the team, and throws it on. */
export async function noted<T>(
  { db, clock }: World,
  { id }: ConnectionRow,
  { step, work }: { step: ProviderStep; work: Promise<T> },
): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof ProviderFault && !error.isOfAnswer) {
      const says = error.message.replaceAll(/[\p{C}\p{Zl}\p{Zp}]+/gu, ' ').slice(0, SAID_CHARS_MAX);
      await noteProviderFault(db, id, { kind: error.kind, step, says, at: clock.now() });
    }
    throw error;
  }
}
