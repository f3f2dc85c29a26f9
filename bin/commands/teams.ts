import {
  administerTeam,
  createTeam,
  findNamedTeam,
  listTeams,
  type TeamChange,
  type TeamRow,
} from '../../src/resources/teams/index.ts';
import type { Store } from '../../src/platform/store/index.ts';
import { OperatorFault } from '../explain.ts';
import { printTeam } from './init.ts';
import { dataFolder, readConfig, whereListed, withStore, type DataOptions } from './open.ts';

type Options = DataOptions & { json?: boolean };

const LIST = 'rasket teams list';

export async function createNamedTeam(name: string, options: Options & { admin?: string[] }): Promise<void> {
  const config = readConfig(options);
  const dataDir = dataFolder(options);
  const make = (store: Store) => createTeam(store, { name, adminEmails: options.admin });
  const audit = { action: 'team.created', details: { name } };
  const made = await whereListed(LIST, options, () => withStore(config, dataDir, make, { audit }));
  printTeam({ ...made, dataDir, config }, options);
}

export async function printTeams(options: Options): Promise<void> {
  const teams = await withStore(readConfig(options), dataFolder(options), (store) => listTeams(store.db));
  const rows = teams.map(rowOf);
  if (options.json) console.log(JSON.stringify(rows));
  else for (const row of rows) console.log(lineOf(row));
}

export async function updateNamedTeam(
  team: string,
  options: Options & { name?: string; plan?: string; admin?: string[] | false },
): Promise<void> {
  const { name, plan, admin } = options;
  if (name === undefined && plan === undefined && admin === undefined) {
    throw new OperatorFault('name what to change: --name, --plan, --admin or --no-admin', 'usage');
  }
  const wanted = { name, plan, adminEmails: admin === false ? [] : admin };
  await change(team, 'team.administered', wanted, options);
}

/** Its keys are refused from the next request on, and mail that was accepted before rests until the team is resumed. */
export const suspendTeam = (team: string, options: Options): Promise<void> =>
  change(team, 'team.suspended', { riskState: 'suspended' }, options);

export const resumeTeam = (team: string, options: Options): Promise<void> =>
  change(team, 'team.resumed', { riskState: 'normal' }, options);

async function change(team: string, action: string, wanted: TeamChange, options: Options): Promise<void> {
  const config = readConfig(options);
  const about = async ({ db }: Store) => {
    const id = (await findNamedTeam(db, team))?.id;
    return id === undefined ? {} : { teamId: id, subjectId: id };
  };
  const administer = (store: Store) => administerTeam(store, team, wanted);
  const audit = { action, about, details: { ...wanted } };
  const changed = () => withStore(config, dataFolder(options), administer, { audit });
  const row = rowOf(await whereListed(LIST, options, changed));
  console.log(options.json ? JSON.stringify(row) : lineOf(row));
}

const rowOf = (team: TeamRow) => ({
  id: team.id,
  slug: team.slug,
  name: team.name,
  plan: team.plan_code,
  risk_state: team.risk_state,
  created_at: new Date(team.created_at).toISOString(),
  admin_emails: team.admin_emails === null ? [] : (JSON.parse(team.admin_emails) as string[]),
});

const lineOf = (row: ReturnType<typeof rowOf>): string =>
  [
    ...[row.id, row.created_at.slice(0, 10), row.slug, row.plan, row.risk_state, row.name],
    row.admin_emails.join(' ') || '-',
  ].join('\t');
