import type { World } from '../../platform/world/index.ts';
import { emailRowsByIds } from '../emails/index.ts';
import { openBatch, type Batch, type BatchDelivery } from './batch.ts';
import { createMakeMessage } from './make-message.ts';
import { createSigningDomains } from './signing-domains.ts';

export interface Composer {
  /** Reads the rows of a batch of deliveries in a few statements; messages are composed only on demand. */
  open(deliveries: readonly BatchDelivery[]): Promise<Batch>;
}

export function createComposer(world: World): Composer {
  const signingDomains = createSigningDomains(world);
  const make = createMakeMessage(world);
  const returnPathMac = (bytes: Buffer): Buffer => world.secrets.mac('return path', bytes);

  return {
    async open(deliveries) {
      const [rows, domains] = await Promise.all([
        emailRowsByIds(world.db, [...new Set(deliveries.map((delivery) => delivery.email_id))]),
        signingDomains([...new Set(deliveries.map((delivery) => delivery.domain_id))]),
      ]);
      return openBatch({ deliveries, rows, domains, returnPathMac, make });
    },
  };
}
