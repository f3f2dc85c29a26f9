import { localAddress } from '../../platform/probe/index.ts';
import { findReverseDns } from '../../platform/resolver/index.ts';
import type { World } from '../../platform/world/index.ts';

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
