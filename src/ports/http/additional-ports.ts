import type { Server } from 'node:http';
import type { World } from '../../platform/world.ts';
import { openRedirectPorts, openSecurePorts, type SecureParts } from './secure-ports.ts';

export type { SecureParts };

/** Opens the ports that [https] names in addition to the one of [http]: all of them, or none. */
export async function openAdditionalPorts(world: World, server: Server, parts: SecureParts | undefined) {
  const redirects = await openRedirectPorts(world);
  try {
    const secure = parts && (await openSecurePorts(world, server, parts));
    return {
      bound: { securePorts: secure?.ports ?? [], redirectPorts: redirects.ports },
      stopListening: async () => void (await Promise.all([secure?.stopListening(), redirects.close()])),
      // Together: connections that were accepted while the others close would belong to no server.
      close: async (graceMs: number) => void (await Promise.all([secure?.close(graceMs), redirects.close()])),
    };
  } catch (error) {
    await redirects.close();
    throw error;
  }
}
