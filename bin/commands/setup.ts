import { existsSync } from 'node:fs';
import path from 'node:path';
import { readTeamName } from '../../src/tenancy/teams/index.ts';
import { readDomainName } from '../../src/mail/domains/index.ts';
import { readUserEmail } from '../../src/tenancy/users/index.ts';
import { loadConfig, type Config, type Sources } from '../../src/platform/config/index.ts';
import { OperatorFault } from '../explain.ts';
import { findInstallation, findServiceSettings } from '../installation.ts';
import {
  askEverything,
  mustBeReadable,
  warnOfOpenPassword,
  type Answers,
  type SetupOptions,
} from '../setup/answers.ts';
import { createAsker, type Asker } from '../setup/asking.ts';
import { finish, type First } from '../setup/finish.ts';
import { readInstallation, settingsInWords, type Known } from '../setup/team-and-domain.ts';
import { planSettings, parseConfig, replaceFile, readIfPresent } from '../setup/plan.ts';
import { withSettings, type Edited } from '../setup/settings-text.ts';
import { findListeners } from '../../src/platform/listeners.ts';
import { createLookUps } from '../setup/this-machine.ts';
import { FIRST_TEAM } from './init.ts';
import { newDataFolder } from './open.ts';
import { runningPid } from './ready-file.ts';

const DEFAULT_FILE = '/etc/rasket/rasket.toml';

interface CurrentSettings {
  dataDir: string;
  file: string;
  env: NodeJS.ProcessEnv;
  config: Config;
  sources: Sources;
}

/**
 * Turns an installed program into a server that sends: asks, writes the settings, creates what is missing, and lists
 * the remaining steps.
 */
export async function setup(options: SetupOptions): Promise<void> {
  const standing = readCurrentSettings(options);
  const isQuiet = options.print === true;
  const asker = createAsker({ isYes: options.yes === true, isQuiet });
  try {
    const known = await readInstallation(standing);
    const answers = await askForSettings(options, standing, asker);
    await mustBeReadable(answers, standing.dataDir);
    await warnOfOpenPassword(answers, standing.dataDir);
    const edits = planSettings(answers, standing);
    const edited = withSettings(readIfPresent(standing.file), edits, standing.file);
    const config = parseConfig(edited.text, standing.file, standing.env);
    if (options.print) return void process.stdout.write(edited.text);
    const first = await askForFirst(options, asker, known);
    printSettings(asker, standing.file, edited);
    if (options.dryRun) return printDryRun(asker, first);
    await write(edited, standing, asker);
    if (answers.relay?.password?.typed !== undefined)
      replaceFile(answers.relay.password.file, `${answers.relay.password.typed}\n`, standing.dataDir);
    await finish({ ...standing, config, options, asker, answers, known, first, isChanged: edited.changed.length > 0 });
  } finally {
    asker.close();
  }
}

function readCurrentSettings(options: SetupOptions): CurrentSettings {
  const dataDir = newDataFolder(options);
  const found = findServiceSettings(dataDir);
  const file = path.resolve(
    options.config ?? process.env.RASKET_CONFIG ?? found.file ?? findInstallation()?.config ?? DEFAULT_FILE,
  );
  const read = loadConfig({ ...(existsSync(file) ? { file } : {}), env: found.env });
  for (const warning of read.warnings) process.stderr.write(`rasket: warning: ${warning}\n`);
  return { dataDir, file, env: found.env, config: read.config, sources: read.sources };
}

function askForSettings(options: SetupOptions, standing: CurrentSettings, asker: Asker): Promise<Answers> {
  const { config, sources, dataDir, file } = standing;
  const own = runningPid(dataDir);
  const origins: Readonly<Record<string, string>> = { file, env: 'the environment' };
  return askEverything({
    options,
    asker,
    config,
    file,
    findOrigin: (key) => origins[sources.get(key) ?? ''],
    lookUps: createLookUps(config.dns),
    listeners: findListeners().filter(({ pid }) => pid === undefined || pid !== own),
  });
}

/** The team, its first person and its domain, as far as they are not there. */
async function askForFirst(options: SetupOptions, asker: Asker, known: Known): Promise<First> {
  const { team, owner } = known.team ? printTeam(options, asker, known.team) : await askForTeam(options, asker);
  const domain = await asker.ask<string | undefined>({
    flag: '--domain or --no-domain',
    label: 'First domain to send from (or none)',
    says: 'Mail is sent from addresses at one of your domains, such as example.com or mail.example.com. Setup prints the DNS records for it.',
    given: options.domain === false ? 'none' : options.domain,
    found: known.domain === undefined ? undefined : { value: known.domain, from: 'the team has it' },
    read: (text) => (text === 'none' ? undefined : readDomainName(text)),
  });
  return { team, owner, domain };
}

function printTeam(options: SetupOptions, asker: Asker, team: NonNullable<Known['team']>): Omit<First, 'domain'> {
  asker.print(`Team: ${team.name} (${team.slug}) exists already.`);
  if (typeof options.team === 'string' && ![team.name, team.slug].includes(options.team)) {
    throw new OperatorFault(
      `--team ${JSON.stringify(options.team)}: the first team is ${team.name} (${team.slug}); create another one with: rasket teams create`,
      'usage',
    );
  }
  return { team: undefined, owner: undefined };
}

async function askForTeam(options: SetupOptions, asker: Asker): Promise<Omit<First, 'domain'>> {
  const team = await asker.ask({
    flag: '--team',
    label: 'Name of the first team',
    says: 'A team has domains, keys and mail; you can add more teams later.',
    given: options.team,
    found: { value: FIRST_TEAM, from: 'a name to start with' },
    read: readTeamName,
  });
  const owner = await asker.ask<string | undefined>({
    flag: '--email or --no-email',
    label: 'Your email address (or none)',
    says: 'You own the team and sign in with this address in a browser; the first email is sent to it. The password is shown once.',
    given: options.email === false ? 'none' : options.email,
    read: (text) => (text === 'none' ? undefined : readUserEmail(text)),
  });
  return { team, owner };
}

function printSettings(asker: Asker, file: string, { changed }: Edited): void {
  asker.print(
    changed.length === 0 ? `\n${file} already has all of this; it is not changed.` : `\nSettings for ${file}:`,
  );
  if (changed.length > 0) process.stdout.write(`${settingsInWords(changed)}\n`);
}

function printDryRun(asker: Asker, { team, owner, domain }: First): void {
  const made = [
    team === undefined ? '' : `the team ${team}${owner === undefined ? '' : `, owned by ${owner}`}`,
    domain === undefined ? '' : `the domain ${domain}, unless it exists`,
  ].filter((one) => one !== '');
  asker.print(`${made.length === 0 ? '' : `To be created: ${made.join('; ')}. `}Nothing was changed (--dry-run).`);
}

async function write({ text, changed }: Edited, { file, dataDir }: CurrentSettings, asker: Asker): Promise<void> {
  if (changed.length === 0) return;
  if (asker.isInteractive && !(await asker.agree(`Write ${file}?`)))
    throw new OperatorFault('canceled; nothing was changed');
  replaceFile(file, text, dataDir);
  asker.print(`${file} is written.`);
}
