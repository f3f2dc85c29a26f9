import { existsSync } from 'node:fs';
import path from 'node:path';
import { hasTable, schemaState } from '../../src/platform/db/index.ts';
import { createLog } from '../../src/platform/log/index.ts';
import type { Config } from '../../src/platform/config/index.ts';
import type { Store } from '../../src/platform/store.ts';
import { closeStore, openStore } from '../../src/open-store.ts';
import type { Ctx } from '../../src/tenancy/access/index.ts';
import { issueApiKey, listApiKeys } from '../../src/tenancy/api-keys/index.ts';
import { listCertificates } from '../../src/features/installation/index.ts';
import {
  findDomainByName,
  listDomains,
  presentDomain,
  recordsToCheck,
  registerDomain,
  renewRecords,
} from '../../src/mail/domains/index.ts';
import { listTeams } from '../../src/tenancy/teams/index.ts';
import { isInitialised } from '../commands/init.ts';
import { withStore } from '../commands/open.ts';
import { OperatorFault } from '../explain.ts';
import { runAsFolderOwner } from '../installation.ts';
import { closeWorld, openWorld } from '../../src/open-world.ts';
import { configureDomainDns } from '../../src/mail/domain-dns/index.ts';
import type { World } from '../../src/platform/world.ts';
import type { DomainRecord } from '../../src/contract/index.ts';
import { zoneEntry } from '../../cli/commands/domains/zone-entry.ts';
import { toSection, settingLine, type Edit } from './settings-text.ts';
import { canonicalAddress, toRecordType, type LookUps } from './this-machine.ts';

interface Here {
  config: Config;
  dataDir: string;
}

export interface Known {
  team: { id: string; slug: string; name: string } | undefined;
  /** The domain of that team that was added first. */
  domain: string | undefined;
  /** True when no key of the team was ever used: the person who was shown it may have lost it. */
  isKeyUnused: boolean;
}

const NOTHING: Known = { team: undefined, domain: undefined, isKeyUnused: false };

const createCtx = (store: Store, teamId: string): Ctx => ({
  store,
  teamId,
  requestId: 'setup',
  actor: { kind: 'job', name: 'setup' },
});

/** Reads the installation without changing anything: neither the schema of an older version nor an empty folder. */
export async function readInstallation({ config, dataDir }: Here): Promise<Known> {
  if (!isInitialised(dataDir)) return NOTHING;
  const { driver, path: file } = config.database;
  // Opening an SQLite file creates it.
  if (driver !== 'pg' && !existsSync(path.resolve(dataDir, file))) return NOTHING;
  return runAsFolderOwner(dataDir, async () => {
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
  const team = (await listTeams(store.db)).toSorted((a, b) => a.created_at - b.created_at)[0];
  if (!team) return NOTHING;
  const ctx = createCtx(store, team.id);
  const domains = await listDomains(ctx, { limit: 100 });
  const keys = await listApiKeys(ctx, {}, { limit: 100 });
  return {
    team: { id: team.id, slug: team.slug, name: team.name },
    // Domains are listed newest first, so the last one is the oldest.
    domain: domains.data.at(-1)?.name,
    isKeyUnused: keys.data.every((key) => key.last_used_at === null),
  };
}

/** Makes another key for an operator who has no key of the team any more. */
export const makeKey = ({ config, dataDir }: Here, teamId: string): Promise<string> =>
  runAsFolderOwner(dataDir, () =>
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

/** Returns the domain of the team with the records that the settings require, created if it is missing. */
export const haveDomain = (
  { config, dataDir }: Here,
  teamId: string,
  name: string,
): Promise<{ domain: Domain; isNew: boolean }> =>
  runAsFolderOwner(dataDir, () =>
    withStore(
      config,
      dataDir,
      async (store) => {
        const row = await findDomainByName(store.db, teamId, name);
        const ctx = createCtx(store, teamId);
        if (!row) return { domain: await registerDomain(ctx, { name }), isNew: true };
        await renewRecords(ctx, row);
        return { domain: presentDomain(store, row, await recordsToCheck(store.db, row.id)), isNew: false };
      },
      { audit: { action: 'domain.created', details: { name }, about: async () => ({ teamId }) } },
    ),
  );

type Certificate = Awaited<ReturnType<typeof listCertificates>>['certificates'][number];

/**
 * Checks once a second for so many seconds; returns the certificate when it is no longer awaited, or its last state.
 */
export const awaitCertificate = (
  { config, dataDir }: Here,
  host: string,
  seconds: number,
): Promise<Certificate | undefined> =>
  runAsFolderOwner(dataDir, () =>
    withStore(config, dataDir, async (store) => {
      for (let left = seconds; ; left--) {
        const found = (await listCertificates(store)).certificates.find(({ names }) => names.includes(host));
        if (left <= 0 || (found !== undefined && found.status !== 'awaited')) return found;
        await new Promise((resolve) => setTimeout(resolve, 1000));
      }
    }),
  );

/** Renders settings as lines of TOML, with their sections. */
export function settingsInWords(edits: readonly Edit[]): string {
  const sections = [...new Set(edits.map(({ key }) => toSection(key)))];
  return sections
    .map((section) =>
      [
        `  [${section}]`,
        ...edits.filter(({ key }) => toSection(key) === section).map((one) => `  ${settingLine(one)}`),
      ].join('\n'),
    )
    .join('\n');
}

interface HostRecords {
  /** Lines of a zone file. */
  zone: string;
  /** Sentences about the records that DNS lacks. */
  lacks: readonly string[];
}

/** A and AAAA of the host name, and the way back from each address. */
export async function hostRecords(host: string, addresses: readonly string[], lookUps: LookUps): Promise<HostRecords> {
  const zone = addresses.map((address) => `${host}.\tIN\t${toRecordType(address)}\t${address}`).join('\n');
  const published = await lookUps.lookUpAddresses(host);
  const lacks: string[] = [];
  if (published === 'unknown') lacks.push(`The addresses of ${host} are unknown: the resolver does not answer.`);
  const has = (Array.isArray(published) ? published : []).map(canonicalAddress);
  for (const address of addresses) {
    if (published !== 'unknown' && !has.includes(address))
      lacks.push(`${host} has no ${toRecordType(address)} record with ${address}. Publish it.`);
    const names = await lookUps.lookUpNames(address);
    if (names === 'unknown')
      lacks.push(`Reverse DNS of ${address} is unknown: the resolver does not answer. It should be ${host}.`);
    else if (!names.includes(host))
      lacks.push(
        `Reverse DNS of ${address} is ${names.length === 0 ? 'absent' : names.join(', ')}. Ask the provider of the address to set it to ${host}.`,
      );
  }
  const strange = has.filter((address) => !addresses.includes(address));
  if (strange.length > 0) lacks.push(`${host} also resolves to ${strange.join(', ')}, which is not this machine.`);
  return { zone, lacks };
}

export const zoneSnippet = ({ records }: Pick<Domain, 'records'>): string =>
  (records as readonly DomainRecord[]).map(zoneEntry).join('\n');

/** Quotes a text as one word of a shell: an address may contain an apostrophe. */
const inQuotes = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

interface FirstEmail {
  url: string;
  key: string | undefined;
  domain: string;
  to: string;
}

export function firstEmailLine({ url, key, domain, to }: FirstEmail): string {
  const body = { from: `Hello <hello@${domain}>`, to, subject: 'Hello', text: 'It works.' };
  return `curl ${url}/emails \\
  -H ${key === undefined ? '"Authorization: Bearer $RASKET_API_KEY"' : `'Authorization: Bearer ${key}'`} \\
  -H 'Content-Type: application/json' \\
  -d ${inQuotes(JSON.stringify(body))}`;
}

interface Wish {
  teamId: string;
  domainId: string;
  provider: string;
  /** Used once, and not stored. */
  apiToken: string | undefined;
  isDryRun: boolean;
}

export type Published = Awaited<ReturnType<typeof configureDomainDns>>;

/** Sets the records of a domain through a provider of the settings, or Cloudflare with a token of one's own. */
export const publishRecords = ({ config, dataDir }: Here, wish: Wish): Promise<Published> =>
  runAsFolderOwner(dataDir, async () => {
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
