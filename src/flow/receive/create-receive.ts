import { clientKey } from '../../platform/network/index.ts';
import type { World } from '../../platform/world/index.ts';
import { createAuthenticator } from './authenticator.ts';
import type { Arrival } from './inbound-message.ts';
import { judge } from './judge.ts';
import { routeRecipient, type Route } from './route-recipient.ts';
import type { Verdict } from './verdict.ts';
import { takeReturned } from './take-returned.ts';
import { createStoreMessage } from './store-message.ts';

export interface Receive {
  /** Where mail to this address goes, if it is taken at all. */
  route(address: string): Promise<Route>;
  /** Resolves when everything that comes of the message is synced; `id` is for the log of whoever sent it. */
  receive(arrival: Arrival): Promise<Verdict>;
  close(): Promise<void>;
}

export function createReceive(world: World): Receive {
  const { read, store, close } = createStoreMessage(world);
  const authenticator = createAuthenticator(world);
  return {
    route: (address) => routeRecipient(world, address),
    async receive(arrival) {
      const teams = new Map<string, string[]>();
      for (const route of arrival.routes) {
        if (route.kind === 'team') teams.set(route.teamId, [...(teams.get(route.teamId) ?? []), route.address]);
      }
      const reading = await read(clientKey(arrival.client.address), arrival.raw);
      if (teams.size === 0) return takeReturned(world, arrival, reading);
      const judgement = await judge(world, authenticator, arrival, [...teams.values()].flat());
      if (judgement.kind === 'refuse') return { kind: 'refused', domain: judgement.domain };
      if (judgement.kind === 'defer') return { kind: 'deferred' };
      const { authentication, virus } = judgement;
      if (virus !== undefined) world.log.warn({ virus, mailFrom: arrival.mailFrom }, 'a virus came in');
      await takeReturned(world, arrival, reading);
      const received = await store({ ...arrival, teams, authentication, hasVirus: virus !== undefined }, reading);
      return { kind: 'taken', id: received[0]?.id ?? '' };
    },
    close: async () => void (await Promise.all([close(), authenticator.close()])),
  };
}
