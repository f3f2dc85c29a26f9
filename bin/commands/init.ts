import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import type { Config } from '../../src/platform/config/index.ts';
import { hasTable } from '../../src/platform/db/index.ts';
import { createInstanceKey, instanceKeyPath, newToken } from '../../src/platform/secrets/index.ts';
import type { Store } from '../../src/platform/store.ts';
import { InstallationMismatch } from '../../src/tenancy/instance/index.ts';
import { insertMember } from '../../src/tenancy/members/index.ts';
import { createTeam, listTeams } from '../../src/tenancy/teams/index.ts';
import { createUser, toEmailKey, findUserByEmailKey, readUserEmail } from '../../src/tenancy/users/index.ts';
import { OperatorFault } from '../explain.ts';
import { becomeFolderOwner, findInstallation } from '../installation.ts';
import {
  newDataFolder,
  DEVELOPMENT_MARK,
  mustNotLackKey,
  readConfig,
  withStore,
  type CommandAudit,
  type DataOptions,
} from './open.ts';
import { findServerAddress, runningUrl } from './ready-file.ts';

export const FIRST_TEAM = 'My team';

export interface InitOptions extends DataOptions {
  team?: string;
  /** The address of its first person. */
  owner?: string;
  json?: boolean;
}

export async function init(options: InitOptions): Promise<void> {
  const dataDir = newDataFolder(options);
  const config = readConfig({ ...options, data: dataDir });
  becomeFolderOwner(dataDir);
  const made = await makeTeam(config, dataDir, options);
  printTeam({ ...made, dataDir, config }, options);
}

/** Creates the data folder too if there is none; without a name only the first team is made. */
export async function makeTeam(
  config: Config,
  dataDir: string,
  options: Pick<InitOptions, 'team' | 'owner'>,
): Promise<Omit<PrintedTeam, 'dataDir' | 'config'>> {
  // Before anything is made.
  const owner = options.owner === undefined ? undefined : readUserEmail(options.owner);
  const isNew = makeDataFolder(dataDir);
  const open = isNew ? withFreshStore : withOwnStore;
  return open(
    config,
    dataDir,
    async (store) => {
      const teams = await listTeams(store.db);
      if (teams.length > 0 && options.team === undefined) {
        throw new OperatorFault(
          `${dataDir} already has a team; add another one with: rasket init --data ${dataDir} --team NAME`,
        );
      }
      const team = await createTeam(store, { name: options.team ?? FIRST_TEAM });
      return { ...team, owner: owner === undefined ? undefined : await makeOwner(store, team.teamId, owner) };
    },
    { action: 'team.created', ...(owner === undefined ? {} : { details: { owner } }) },
  );
}

/** Somebody who already has an account keeps the password, which is unknown here. */
async function makeOwner(store: Store, teamId: string, email: string): Promise<Owner> {
  const buildMember = (userId: string) => ({
    id: store.ids.uuid(),
    team_id: teamId,
    user_id: userId,
    role: 'owner' as const,
    sso_exempt: 0,
    created_at: store.clock.now(),
  });
  const known = await findUserByEmailKey(store.db, toEmailKey(email));
  if (known) {
    await store.db.tx((tx) => insertMember(tx, buildMember(known.id)));
    return { email: known.email, password: null };
  }
  const password = newToken('');
  await createUser(store, { email, password, isVerified: true }, (tx, user) => insertMember(tx, buildMember(user.id)));
  return { email, password };
}

/**
 * Makes the data folder and returns whether it is new. Safe to repeat: everything that exists is kept, so an attempt
 * that failed half-way can be made again.
 */
export function makeDataFolder(dataDir: string): boolean {
  if (isInitialised(dataDir)) return false;
  mustNotLackKey(dataDir);
  if (existsSync(dataDir) && readdirSync(dataDir).some((name) => !LEFT_BY_AN_ATTEMPT.includes(name))) {
    if (existsSync(instanceKeyPath(dataDir))) throw emptyKey(dataDir);
    throw new OperatorFault(`${dataDir} contains other files; choose an empty or a new folder with --data`);
  }
  mkdirSync(path.join(dataDir, 'run'), { recursive: true, mode: 0o700 });
  // A folder that was created beforehand has the default mode of the system.
  chmodSync(dataDir, 0o700);
  chmodSync(path.join(dataDir, 'run'), 0o700);
  // A full disk may have left an empty key file; nothing can have been sealed with it.
  rmSync(instanceKeyPath(dataDir), { force: true });
  createInstanceKey(dataDir);
  return true;
}

/**
 * Refuses a database server that already has data: it was sealed with another folder's key, and a new key could not
 * read it.
 */
export async function withFreshStore<T>(
  config: Config,
  dataDir: string,
  work: (store: Store) => Promise<T>,
  audit?: CommandAudit,
): Promise<T> {
  try {
    return await withStore(config, dataDir, work, { mayFound: true, before: mustBeEmpty, ...(audit ? { audit } : {}) });
  } catch (error) {
    if (!(error instanceof InstallationMismatch)) throw error;
    rmSync(instanceKeyPath(dataDir));
    throw new OperatorFault(
      `the database belongs to another data folder; copy that folder's instance.key to ${dataDir} first, or name another database`,
    );
  }
}

const withOwnStore: typeof withFreshStore = (config, dataDir, work, audit) =>
  withStore(config, dataDir, work, { mayFound: true, ...(audit ? { audit } : {}) });

async function mustBeEmpty({ db }: Store): Promise<void> {
  const hasTeams = (await hasTable(db, 'teams')) && (await listTeams(db)).length > 0;
  if (hasTeams) throw new InstallationMismatch('the database has teams');
}

const LEFT_BY_AN_ATTEMPT = ['run', path.basename(instanceKeyPath(''))];

/** Counts an unreadable key as well: reading it reports the fault. */
export function isInitialised(dataDir: string): boolean {
  const key = statSync(instanceKeyPath(dataDir), { throwIfNoEntry: false });
  return key !== undefined && (!key.isFile() || key.size > 0);
}

const emptyKey = (dataDir: string): OperatorFault =>
  new OperatorFault(
    `${instanceKeyPath(dataDir)} is empty, and ${dataDir} has other files in it; put the key in its place, from a backup or another node, or choose a new folder with --data`,
  );

interface Owner {
  email: string;
  password: string | null;
}

export interface PrintedTeam {
  teamId: string;
  slug: string;
  apiKey: string;
  owner?: Owner | undefined;
  dataDir: string;
  config: Config;
}

export function printTeam(made: PrintedTeam, options: DataOptions & { json?: boolean }): void {
  const isDevelopment = existsSync(path.join(made.dataDir, DEVELOPMENT_MARK));
  const running = runningUrl(made.dataDir);
  const url = findServerAddress(made.dataDir, made.config);
  if (options.json) {
    const owner = made.owner && { owner: made.owner.email, password: made.owner.password };
    const answer = { team_id: made.teamId, team: made.slug, api_key: made.apiKey, url, data: made.dataDir, ...owner };
    process.stdout.write(`${JSON.stringify(answer)}\n`);
    return;
  }
  const config = options.config === undefined ? '' : ` --config ${options.config}`;
  const byHand = `rasket ${isDevelopment ? 'dev' : 'serve'} --data ${made.dataDir}${config}`;
  const start = findInstallation()?.data === made.dataDir ? 'systemctl enable --now rasket' : byHand;
  process.stdout.write(`Team     ${made.slug} (${made.teamId})
API key  ${made.apiKey}
         This is the only time it is shown; keep it safe.
${ownerLines(made.owner)}Data     ${made.dataDir}

Next: ${running === undefined ? `start the server with    ${start}\n      ` : ''}keep the key with        rasket login --url ${url} --api-key
      and add a domain with    rasket domains create mail.example.com
${made.owner ? '' : `      and a person with        rasket users create ADDRESS --team ${made.slug} --data ${made.dataDir}${config}\n`}`);
}

export function ownerLines(owner: Owner | undefined): string {
  if (!owner) return '';
  if (owner.password === null) return `Owner    ${owner.email}, with the password of before\n`;
  return `Owner    ${owner.email}\nPassword ${owner.password}\n         This is the only time it is shown, too.\n`;
}
