import type { DeliveryJob, Family, FamilyOrder, RecipientOutcome } from './delivery-job.ts';

const REFUSAL_MEMORY_MS = 24 * 3_600_000;
const REFUSALS_MAX = 10_000;

export interface FamilyChoiceOptions {
  now: () => number;
  /** The family that mail of a region leaves by, where the receiver has both. */
  preferred: (region: string) => Family;
}

/** Chooses the address family for each destination, and remembers for a day which destinations refuse IPv6. */
export class FamilyChoice {
  #options: FamilyChoiceOptions;
  #refusedUntil = new Map<string, number>();

  constructor(options: FamilyChoiceOptions) {
    this.#options = options;
  }

  orderFor({ region, domain }: Pick<DeliveryJob, 'region' | 'domain'>): FamilyOrder {
    const until = this.#refusedUntil.get(`${region} ${domain}`);
    if (until !== undefined && until > this.#options.now()) return 'v4 first';
    return `${this.#options.preferred(region)} first`;
  }

  noteRefusalOfV6({ region, domain }: Pick<DeliveryJob, 'region' | 'domain'>): void {
    const key = `${region} ${domain}`;
    this.#refusedUntil.delete(key);
    this.#refusedUntil.set(key, this.#options.now() + REFUSAL_MEMORY_MS);
    if (this.#refusedUntil.size <= REFUSALS_MAX) return;
    for (const oldest of this.#refusedUntil.keys()) {
      this.#refusedUntil.delete(oldest);
      break;
    }
  }
}

export const familyOf = (address: string): Family => (address.includes(':') ? 'v6' : 'v4');

/** Whether a receiver refused mail for the way in which it came: without a name in reverse DNS, or unauthenticated, over IPv6. */
export function isRefusalOfV6(outcome: RecipientOutcome): boolean {
  if (outcome.kind !== 'bounced' && outcome.kind !== 'deferred') return false;
  const isOfAddress = outcome.cause === 'ptr_helo' || outcome.cause === 'authentication';
  return isOfAddress || /^5\.7\.(?:25|510)$/.test(outcome.reply?.enhanced ?? '');
}

/** Whether a receiver refused mail for good by a rule of its own (x.7.x), which may hold for one of our addresses alone. */
export function isRefusalByRule(outcome: RecipientOutcome): boolean {
  return outcome.kind === 'bounced' && /^5\.7\.\d+$/.test(outcome.reply?.enhanced ?? '');
}
