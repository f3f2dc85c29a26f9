import type { World } from '../../../platform/world/index.ts';
import { connectionsInUse, type ConnectionRow } from '../../../tenancy/sso-rows/index.ts';
import { ProviderFault } from './provider-fault.ts';
import { askAgain } from './providers.ts';

/** Asked at once: those that are down take as long as an answer may. */
const AT_ONCE = 20;

/** Asks every provider what it says of itself, so that a team hears that it fails before its people stand in front of it. */
export async function recheckSsoProviders(world: World): Promise<void> {
  for (let after: string | null = null; ;) {
    const rows: ConnectionRow[] = await connectionsInUse(world.db, after, AT_ONCE);
    await Promise.all(rows.map((row) => ask(world, row)));
    after = rows.at(-1)?.id ?? null;
    if (rows.length < AT_ONCE) return;
  }
}

async function ask(world: World, connection: ConnectionRow): Promise<void> {
  try {
    await askAgain(world, connection);
  } catch (error) {
    // It is noted with the connection.
    if (!(error instanceof ProviderFault)) throw error;
  }
}
