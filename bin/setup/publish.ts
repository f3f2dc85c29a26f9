/** Sets the records of a domain through a provider of the settings, or Cloudflare with a token of one's own. */
import { closeWorld, openWorld } from '../../src/open-world.ts';
import { configureDomainDns } from '../../src/mail/domain-dns/index.ts';
import { createLog } from '../../src/platform/log/index.ts';
import type { World } from '../../src/platform/world/index.ts';
import type { Ctx } from '../../src/tenancy/access/index.ts';
import { asOwnerOf } from '../installation.ts';
import type { Here } from './first-things.ts';

export interface Wish {
  teamId: string;
  domainId: string;
  provider: string;
  /** Used for this once, and kept nowhere. */
  apiToken: string | undefined;
  isDryRun: boolean;
}

export type Published = Awaited<ReturnType<typeof configureDomainDns>>;

export const publishRecords = ({ config, dataDir }: Here, wish: Wish): Promise<Published> =>
  asOwnerOf(dataDir, async () => {
    const world = await openWorld({ config, dataDir, log: createLog({ level: 'error', format: 'pretty' }) });
    try {
      const { teamId, domainId, provider, apiToken, isDryRun } = wish;
      const ctx: Ctx<World> = { store: world, teamId, requestId: 'setup', actor: { kind: 'job', name: 'setup' } };
      const token = apiToken === undefined ? {} : { api_token: apiToken };
      return await configureDomainDns(ctx, domainId, { provider, dry_run: isDryRun, ...token });
    } finally {
      await closeWorld(world);
    }
  });
