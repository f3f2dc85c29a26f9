import type { Family, FamilyOrder, RecipientOutcome } from './delivery-job.ts';
import type { RoutedJob } from './source.ts';
import { localAddress } from '../../platform/probe.ts';
import { findReverseDns } from '../../platform/resolver/index.ts';
import type { World } from '../../platform/world.ts';

const REFUSAL_MEMORY_MS = 24 * 3_600_000;
const REFUSALS_MAX = 10_000;

interface FamilyChoiceOptions {
  now: () => number;
  /** The family that mail of a region or of a source leaves by, where the receiver has both. */
  preferred: (job: Leaving) => Family;
}

type Leaving = Pick<RoutedJob, 'region' | 'domain' | 'from'>;

/** Chooses the address family for each destination, and remembers for a day which destinations refuse IPv6. */
export class FamilyChoice {
  #options: FamilyChoiceOptions;
  #refusedUntil = new Map<string, number>();

  constructor(options: FamilyChoiceOptions) {
    this.#options = options;
  }

  orderFor(job: Leaving): FamilyOrder {
    const until = this.#refusedUntil.get(toKey(job));
    if (until !== undefined && until > this.#options.now()) return 'v4 first';
    return `${this.#options.preferred(job)} first`;
  }

  noteRefusalOfV6(job: Leaving): void {
    const key = toKey(job);
    this.#refusedUntil.delete(key);
    this.#refusedUntil.set(key, this.#options.now() + REFUSAL_MEMORY_MS);
    if (this.#refusedUntil.size <= REFUSALS_MAX) return;
    for (const oldest of this.#refusedUntil.keys()) {
      this.#refusedUntil.delete(oldest);
      break;
    }
  }
}

const toKey = ({ region, domain, from }: Leaving): string => `${region} ${domain} ${from?.name ?? ''}`;

export const detectFamily = (address: string): Family => (address.includes(':') ? 'v6' : 'v4');

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

const EXAMINED_FOR_MS = 3_600_000;
const EXAMINATION_MS_MAX = 10_000;

interface Examined {
  isReady: boolean;
  until: number;
}

/**
 * Tells whether mail may leave over IPv6 first: large receivers refuse it from an address without reverse DNS that leads
 * back to it. An address is examined once an hour, in the background; until the first answer it counts as not ready.
 */
export function createIpv6Readiness(world: World): (sourceV6: string) => boolean {
  const known = new Map<string, Examined>();
  const underWay = new Set<string>();

  async function examine(sourceV6: string): Promise<void> {
    const address = sourceV6 === '' ? await localAddress(6) : sourceV6;
    const { resolve } = world.inspector.inspect(AbortSignal.timeout(EXAMINATION_MS_MAX));
    const isReady = address !== undefined && (await findReverseDns(resolve, address)).kind === 'confirmed';
    known.set(sourceV6, { isReady, until: world.clock.steady() + EXAMINED_FOR_MS });
  }

  return (sourceV6) => {
    const examined = known.get(sourceV6);
    const isCurrent = examined !== undefined && examined.until > world.clock.steady();
    if (!isCurrent && !underWay.has(sourceV6)) {
      underWay.add(sourceV6);
      examine(sourceV6)
        .catch((error: unknown) =>
          world.log.warn({ err: error }, 'reverse DNS of the IPv6 address could not be examined'),
        )
        .finally(() => underWay.delete(sourceV6));
    }
    return examined?.isReady ?? false;
  };
}
