import {
  administerTeam,
  createTeam,
  findNamedTeam,
  listTeams,
  type TeamChange,
  type TeamRow,
} from '../../src/tenancy/teams/index.ts';
import { stopEnforcingSso, takeSsoDomain } from '../../src/features/identity/index.ts';
import type { Config } from '../../src/platform/config/index.ts';
import type { Store } from '../../src/platform/store.ts';
import { clean, cleanJson, type Column, listTime, openTerminal, type Terminal } from '../../cli/output/index.ts';
import { OperatorFault } from '../explain.ts';
import { printTeam } from './init.ts';
import { dataFolder, readConfig, whereListed, withStore, type DataOptions } from './open.ts';
import { printRows } from './print-rows.ts';

type Options = DataOptions & { json?: boolean; wide?: boolean };

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
  const none = 'There are no teams yet. Make one with: rasket init, or rasket teams create NAME';
  printRows(teams.map(toRow), columnsFor, { ...options, none });
}

export async function updateNamedTeam(
  team: string,
  options: Options & { name?: string; plan?: string; admin?: string[] | false },
): Promise<void> {
  const { name, plan, admin } = options;
  if (name === undefined && plan === undefined && admin === undefined) {
    throw new OperatorFault('give what to change: --name, --plan, --admin or --no-admin', 'usage');
  }
  const wanted = { name, plan, adminEmails: admin === false ? [] : admin };
  await change(team, { action: 'team.administered', wanted, tell: changedInWords }, options);
}

/** Lists the plans in the settings, whose names `teams update --plan` takes. */
export function printPlans(options: Options): void {
  const { plans, team } = readConfig(options);
  const rows = Object.entries(plans).map(([code, plan]) => ({ code, is_default: code === team.default_plan, ...plan }));
  printRows(rows, planColumns, { ...options, none: 'There are no plans in the settings.' });
}

type PlanRow = Config['plans'][string] & { code: string; is_default: boolean };

const planColumns = (): Column<PlanRow>[] => [
  { title: 'PLAN', value: ({ code }) => code, fit: 'whole' },
  { title: 'NAME', value: ({ name }) => name },
  { title: 'NEW TEAMS', value: (plan) => (plan.is_default ? 'yes' : 'no'), fit: 'whole' },
  { title: 'EMAILS A MONTH', value: (plan) => plan.included_emails, fit: 'whole', isRight: true },
  { title: 'A DAY', value: ({ daily_cap: cap }) => cap ?? 'no limit', fit: 'whole', isRight: true },
  { title: 'KEPT FOR', value: (plan) => `${plan.retention_days} d`, fit: 'whole', isRight: true },
  { title: 'DOMAINS', value: (plan) => plan.domain_limit, fit: 'whole', isRight: true },
  { title: 'CONTACTS', value: (plan) => plan.contact_limit, fit: 'whole', isRight: true },
];

/**
 * Suspends a team: its keys are refused from the next request on, and mail that was accepted before waits until the
 * team is resumed.
 */
export const suspendTeam = (team: string, options: Options): Promise<void> =>
  change(
    team,
    {
      action: 'team.suspended',
      wanted: { riskState: 'suspended' },
      tell: ({ name }) =>
        `${name} is suspended: its keys are refused, and its accepted mail is paused until it is resumed.`,
    },
    options,
  );

export const resumeTeam = (team: string, options: Options): Promise<void> =>
  change(
    team,
    {
      action: 'team.resumed',
      wanted: { riskState: 'normal' },
      tell: ({ name }) => `${name} is resumed: its keys are accepted, and its mail is sent again.`,
    },
    options,
  );

/** The connection stays, and an owner can enforce it again; a domain that is taken away has to be proven by another record. */
export async function stopSso(team: string, options: Options & { reason: string; domain?: string }): Promise<void> {
  const reason = readReason(options.reason);
  const { domain } = options;
  const stop = (store: Store) =>
    domain === undefined ? stopEnforcingSso(store, team) : takeSsoDomain(store, team, domain);
  const action = domain === undefined ? 'team_sso.switched_off' : 'team_sso.domain_removed';
  const audit = { action, about: aboutTeam(team), details: { reason, ...(domain === undefined ? {} : { domain }) } };
  const row = toRow(
    await whereListed(LIST, options, () => withStore(readConfig(options), dataFolder(options), stop, { audit })),
  );
  if (options.json) return console.log(cleanJson(row));
  openTerminal({ out: process.stdout, err: process.stderr, env: process.env }).printText(
    domain === undefined
      ? `${clean(row.name)} no longer enforces single sign-on: its people can also sign in with passwords, and those without one can reset it by email.`
      : `Addresses at ${domain} no longer sign in through ${clean(row.name)}, and the sessions that did have ended.`,
  );
}

const REASON_CHARS_MAX = 500;

function readReason(text: string): string {
  const reason = text.trim();
  if (reason !== '' && reason.length <= REASON_CHARS_MAX && !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(reason)) return reason;
  throw new OperatorFault(`--reason is one line of 1 to ${REASON_CHARS_MAX} characters`, 'usage');
}

const aboutTeam =
  (team: string) =>
  async ({ db }: Store) => {
    const id = (await findNamedTeam(db, team))?.id;
    return id === undefined ? {} : { teamId: id, subjectId: id };
  };

interface Change {
  action: string;
  wanted: TeamChange;
  tell: (row: Row) => string;
}

async function change(team: string, { action, wanted, tell }: Change, options: Options): Promise<void> {
  const config = readConfig(options);
  const administer = (store: Store) => administerTeam(store, team, wanted);
  const audit = { action, about: aboutTeam(team), details: { ...wanted } };
  const changed = () => withStore(config, dataFolder(options), administer, { audit });
  const row = toRow(await whereListed(LIST, options, changed));
  if (options.json) return console.log(cleanJson(row));
  openTerminal({ out: process.stdout, err: process.stderr, env: process.env }).printText(clean(tell(row)));
}

type Row = ReturnType<typeof toRow>;

const toRow = (team: TeamRow) => ({
  id: team.id,
  slug: team.slug,
  name: team.name,
  plan: team.plan_code,
  risk_state: team.risk_state,
  created_at: new Date(team.created_at).toISOString(),
  admin_emails: team.admin_emails === null ? [] : (JSON.parse(team.admin_emails) as string[]),
});

const formatAdmins = ({ admin_emails: admins }: Row): string => admins.join(', ');

function changedInWords(row: Row): string {
  const admins = formatAdmins(row);
  const addresses = admins === '' ? 'It has no admin addresses.' : `Its admin addresses are ${admins}.`;
  return `${row.name} (${row.slug}) has the plan ${row.plan}. ${addresses}`;
}

const columnsFor = (terminal: Terminal): Column<Row>[] => [
  { title: 'ID', value: ({ id }) => id, fit: 'whole' },
  { title: 'SLUG', value: ({ slug }) => slug, fit: 'name' },
  { title: 'NAME', value: ({ name }) => name },
  { title: 'PLAN', value: ({ plan }) => plan },
  {
    title: 'STATE',
    value: ({ risk_state: state }) => state,
    style: ({ risk_state: state }) => (state === 'normal' ? 'plain' : 'red'),
    fit: 'whole',
  },
  { title: 'ADMINS', value: formatAdmins },
  { title: 'CREATED', value: ({ created_at: created }) => listTime(terminal, created), fit: 'whole' },
];
