/** The first team with its key, and the first domain: made where they are not there yet. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { hasTable, schemaState } from '../../src/platform/db/index.ts';
import { createLog } from '../../src/platform/log/index.ts';
import type { Config } from '../../src/platform/config/index.ts';
import type { Store } from '../../src/platform/store/index.ts';
import { closeStore, openStore } from '../../src/open-store.ts';
import type { Ctx } from '../../src/tenancy/access/index.ts';
import { issueApiKey, listApiKeys } from '../../src/tenancy/api-keys/index.ts';
import { listCertificates } from '../../src/features/operations/certificates/index.ts';
import {
  findDomainByName,
  listDomains,
  presentDomain,
  recordsOf,
  registerDomain,
  renewRecords,
} from '../../src/mail/domains/index.ts';
import { listTeams } from '../../src/tenancy/teams/index.ts';
import { isInitialised } from '../commands/init.ts';
import { withStore } from '../commands/open.ts';
import { OperatorFault } from '../explain.ts';
import { asOwnerOf } from '../installation.ts';

export interface Here {
  config: Config;
  dataDir: string;
}

export interface Known {
  team: { id: string; slug: string; name: string } | undefined;
  /** Of that team, the first one. */
  domain: string | undefined;
  /** Nobody has used a key of the team: whoever was shown it may have lost it. */
  isKeyUnused: boolean;
}

const NOTHING: Known = { team: undefined, domain: undefined, isKeyUnused: false };

const ctxOf = (store: Store, teamId: string): Ctx => ({
  ...{ store, teamId, requestId: 'setup' },
  actor: { kind: 'job', name: 'setup' },
});

/** Looks, and changes nothing: neither a schema of a version before nor an empty folder. */
export async function lookAtInstallation({ config, dataDir }: Here): Promise<Known> {
  if (!isInitialised(dataDir)) return NOTHING;
  const { driver, path: file } = config.database;
  // To open an SQLite file is to make it.
  if (driver !== 'pg' && !existsSync(path.resolve(dataDir, file))) return NOTHING;
  return asOwnerOf(dataDir, async () => {
    const store = await openStore({
      config,
      dataDir,
      log: createLog({ level: 'error', format: 'pretty' }),
      mayFound: true,
    });
    try {
      if (!(await hasTable(store.db, 'teams'))) return NOTHING;
      if ((await schemaState(store.db)).pending.length === 0) return await known(store);
      throw new OperatorFault(
        `the database is of an older version of rasket; first run: rasket migrate --data ${dataDir}`,
      );
    } finally {
      await closeStore(store);
    }
  });
}

async function known(store: Store): Promise<Known> {
  // Newest first.
  const team = (await listTeams(store.db)).toSorted((a, b) => a.created_at - b.created_at)[0];
  if (!team) return NOTHING;
  const ctx = ctxOf(store, team.id);
  const domains = await listDomains(ctx, { limit: 100 });
  const keys = await listApiKeys(ctx, {}, { limit: 100 });
  return {
    team: { id: team.id, slug: team.slug, name: team.name },
    domain: domains.data.at(-1)?.name,
    isKeyUnused: keys.data.every((key) => key.last_used_at === null),
  };
}

/** Another key for whoever has none of the team any more. */
export const makeKey = ({ config, dataDir }: Here, teamId: string): Promise<string> =>
  asOwnerOf(dataDir, () =>
    withStore(
      config,
      dataDir,
      async (store) => {
        const wish = { teamId, name: 'Made by setup', permission: 'full_access' as const, domainId: null };
        return (await store.db.tx((tx) => issueApiKey(store, tx, wish))).token;
      },
      { audit: { action: 'api_key.created', about: async () => ({ teamId }), always: true } },
    ),
  );

export type Domain = Awaited<ReturnType<typeof registerDomain>>;

/** The domain of the team with what the settings ask to be published, made where it is not there. */
export const haveDomain = (
  { config, dataDir }: Here,
  teamId: string,
  name: string,
): Promise<{ domain: Domain; isNew: boolean }> =>
  asOwnerOf(dataDir, () =>
    withStore(
      config,
      dataDir,
      async (store) => {
        const row = await findDomainByName(store.db, teamId, name);
        const ctx = ctxOf(store, teamId);
        if (!row) return { domain: await registerDomain(ctx, { name }), isNew: true };
        await renewRecords(ctx, row);
        return { domain: presentDomain(row, await recordsOf(store.db, row.id)), isNew: false };
      },
      { audit: { action: 'domain.created', details: { name }, about: async () => ({ teamId }) } },
    ),
  );

type Certificate = Awaited<ReturnType<typeof listCertificates>>['certificates'][number];

/** Looks once a second, for as long as that many; answers how it stands then. */
export const awaitCertificate = (
  { config, dataDir }: Here,
  host: string,
  seconds: number,
): Promise<Certificate | undefined> =>
  asOwnerOf(dataDir, () =>
    withStore(config, dataDir, async (store) => {
      for (let left = seconds; ; left--) {
        const found = (await listCertificates(store)).certificates.find(({ names }) => names.includes(host));
        if (left <= 0 || (found !== undefined && found.status !== 'awaited')) return found;
        await new Promise((resolve) => setTimeout(resolve, 1000));
      }
    }),
  );
