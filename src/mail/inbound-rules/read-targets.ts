import { invalidFields, refuse, type FieldFault } from '../../platform/refusal/index.ts';
import { normalizeAddress, parseAddress } from '../../protocol/address/index.ts';
import { takesMailHere } from '../domains/index.ts';
import type { InboundAction } from './inbound-rules.store.ts';

/** The addresses that a rule forwards to, each once; refuses what could bring mail back to this installation. */
export async function readTargets(
  store: Parameters<typeof takesMailHere>[0],
  action: InboundAction,
  given: readonly string[] | undefined,
): Promise<string[]> {
  if (action !== 'forward') {
    if (given === undefined) return [];
    throw refuse('validation_error', {
      status: 422,
      ...ofForwardTo(`forward_to belongs to the action forward alone; leave it out with ${action}.`),
    });
  }
  if (given === undefined) {
    throw refuse('validation_error', {
      status: 422,
      ...ofForwardTo('forward_to is missing: name 1 to 10 addresses that mail is forwarded to.'),
    });
  }
  const faults: FieldFault[] = [];
  const targets = new Map<string, string>();
  for (const [i, text] of given.entries()) {
    const parsed = parseAddress(text.trim());
    if (!parsed.ok) {
      faults.push({ path: `forward_to.${i}`, message: parsed.fault });
      continue;
    }
    const { address, domain } = parsed.mailbox;
    if (await takesMailHere(store, domain)) {
      const message = `${domain} is received by this installation, so that mail could go in circles; name an address elsewhere`;
      faults.push({ path: `forward_to.${i}`, message });
      continue;
    }
    const key = normalizeAddress(address);
    if (!targets.has(key)) targets.set(key, address);
  }
  if (faults.length > 0) throw invalidFields(faults);
  return [...targets.values()];
}

const ofForwardTo = (say: string) => ({ say, errors: [{ path: 'forward_to', message: say }] });
