import { existsSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {
  administerTeam,
  createTeam,
  findNamedTeam,
  listTeams,
  findDeletion,
  keepTeam,
  listDeletions,
  requestDeletion,
  type DeletionRow,
  type TeamChange,
  type TeamRow,
} from '../../src/tenancy/teams/index.ts';
import { stopEnforcingSso, takeSsoDomain } from '../../src/features/identity/index.ts';
import { isoTime } from '../../src/platform/clock.ts';
import { notFound } from '../../src/platform/refusal.ts';
import { exportTeam, removeTeam, type RemovalCounts, type RemovalEnd } from '../../src/features/customers/index.ts';
import type { Config } from '../../src/platform/config/index.ts';
import type { Store } from '../../src/platform/store.ts';
import {
  clean,
  cleanJson,
  type Column,
  formatPairs,
  isNameTyped,
  listTime,
  nameToType,
  openTerminal,
  type Terminal,
} from '../../cli/output/index.ts';
import { findTyper, makeFolderOfOwner } from '../installation.ts';
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
  const teams = await withStore(readConfig(options), dataFolder(options), async ({ db }) => {
    const deletions = new Map((await listDeletions(db)).map((row) => [row.team_id, row]));
    return (await listTeams(db)).map((team) => toRow(team, deletions.get(team.id)));
  });
  const none = 'There are no teams yet. Make one with: rasket init, or rasket teams create NAME';
  printRows(teams, columnsFor, { ...options, none });
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

export async function printOneTeam(name: string, options: Options): Promise<void> {
  const find = async ({ db }: Store): Promise<Row> => {
    const team = await findNamedTeam(db, name);
    if (!team) throw notFound(`Team ${JSON.stringify(name)}`);
    return toRow(team, await findDeletion(db, team.id));
  };
  const row = await whereListed(LIST, options, () => withStore(readConfig(options), dataFolder(options), find));
  if (options.json) return console.log(cleanJson(row));
  const terminal = openTerminal({ out: process.stdout, err: process.stderr, env: process.env });
  terminal.print(
    formatPairs(terminal, [
      ['ID', row.id],
      ['Slug', row.slug],
      ['Name', row.name],
      ['Plan', row.plan],
      ['State', formatState(row)],
      ['Reason', row.risk_reason],
      ['Admins', formatAdmins(row)],
      ['Created', listTime(terminal, row.created_at)],
    ]),
  );
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
export const suspendTeam = async (team: string, options: Options & { reason?: string }): Promise<void> =>
  change(
    team,
    {
      action: 'team.suspended',
      wanted: {
        riskState: 'suspended',
        ...(options.reason === undefined ? {} : { riskReason: readReason(options.reason) }),
      },
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

/**
 * Suspends a team, and deletes it after the grace period; with `now`, at once and in this process, next to a server or
 * without one.
 */
export async function deleteTeam(
  name: string,
  options: Options & { reason: string; now?: boolean; yes?: boolean },
): Promise<void> {
  const reason = readReason(options.reason);
  const isNow = options.now === true;
  const config = readConfig(options);
  const dataDir = dataFolder(options);
  await mustBeConfirmed(name, isNow || config.team.deletion_grace_days === 0, options);
  const request = (store: Store) => requestDeletion(store, { team: name, reason, requestedBy: findTyper(), isNow });
  const audit = { action: 'team.deletion_requested', about: aboutTeam(name), details: { reason, now: isNow } };
  const { team, deletion } = await whereListed(LIST, options, () => withStore(config, dataDir, request, { audit }));
  const end = isNow ? await withStore(config, dataDir, (store) => removeTeam(store, team.id)) : undefined;
  if (options.json)
    return console.log(cleanJson({ ...presentDeletion(deletion), team_id: team.id, ...presentEnd(end) }));
  openTerminal({ out: process.stdout, err: process.stderr, env: process.env }).printText(
    clean(end === undefined ? describeRequest(team, deletion) : describeEnd(team, end)),
  );
}

async function mustBeConfirmed(name: string, isNow: boolean, { yes }: { yes?: boolean }): Promise<void> {
  if (yes || !isNow) return;
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    throw new OperatorFault(
      'this cannot be undone, and there is no terminal to ask for confirmation; to do it, add --yes',
      'usage',
    );
  }
  const { readLine } = await import('../../cli/commands/stdin.ts');
  process.stderr.write('This will delete the team with its mail, contacts and files. It cannot be undone.\n');
  const answer = await readLine(process, `Type ${nameToType(name)} to do it: `);
  if (!isNameTyped(answer, nameToType(name))) throw new OperatorFault('nothing was changed');
}

const describeRequest = (team: TeamRow, deletion: DeletionRow): string =>
  `${team.name} is suspended, and will be deleted on ${isoTime(deletion.due_at)}. To keep it until then, run: rasket teams keep ${team.slug}`;

const WAITS: Readonly<Record<Extract<RemovalEnd, { kind: 'waiting' }>['reason'], string>> = {
  another_process: 'The service removes it already.',
  deliveries: 'Some of its mail is being delivered right now; the service removes the remaining data within minutes.',
  dns: 'The service still removes its records at the DNS provider; it gives that up after 7 days.',
  time: 'The service continues.',
};

const describeEnd = ({ name }: TeamRow, end: RemovalEnd): string =>
  end.kind === 'waiting'
    ? `${name} is being deleted. ${WAITS[end.reason]}`
    : `${name} is deleted: ${describeCounts(end.counts)}. Its invoices and an entry of the audit log are kept.`;

function describeCounts(counts: RemovalCounts): string {
  const rows = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const named = ['emails', 'received_emails', 'contacts', 'domains'].map(
    (table) => `${counts[table] ?? 0} ${table.replaceAll('_', ' ')}`,
  );
  return `${rows} rows, with ${named.join(', ')} and ${counts.users ?? 0} accounts`;
}

function presentEnd(end: RemovalEnd | undefined): object {
  if (end === undefined) return { state: 'requested' };
  return end.kind === 'waiting'
    ? { state: 'removing', waits_for: end.reason }
    : { state: 'removed', removed: end.counts };
}

/** Takes the deletion of a team back. */
export async function keepNamedTeam(name: string, options: Options): Promise<void> {
  const keep = (store: Store) => keepTeam(store, name);
  const audit = { action: 'team.kept', about: aboutTeam(name) };
  const kept = () => withStore(readConfig(options), dataFolder(options), keep, { audit });
  const row = toRow(await whereListed(LIST, options, kept));
  if (options.json) return console.log(cleanJson(row));
  const state =
    row.risk_state === 'normal' ? 'its keys are accepted, and its mail is sent again' : 'it is suspended, as before';
  openTerminal({ out: process.stdout, err: process.stderr, env: process.env }).printText(
    clean(`${row.name} is kept: ${state}.`),
  );
}

/** Writes everything of a team into a folder. */
export async function exportNamedTeam(name: string, options: Options & { to: string; version: string }): Promise<void> {
  const folder = path.resolve(options.to);
  const audit = { action: 'team.exported', about: aboutTeam(name), details: { to: folder }, always: true as const };
  const write = (store: Store) => exportTeam(store, name, folder, options.version);
  const config = readConfig(options);
  const data = dataFolder(options);
  makeFolderOfOwner(folder, data);
  const manifest = await whereListed(LIST, options, () => withStore(config, data, write, { audit })).catch(
    (error: NodeJS.ErrnoException) => {
      const { code = '', path: at = '' } = error;
      const isOfFolder = at !== '' && (at.startsWith(folder) || folder.startsWith(at));
      throw isOfFolder && ['EACCES', 'EPERM', 'ENOENT'].includes(code)
        ? new OperatorFault(adviseFolder(folder))
        : error;
    },
  );
  if (options.json) console.log(cleanJson(manifest));
  else {
    const rows = Object.values(manifest.rows).reduce((sum, file) => sum + file.rows, 0);
    openTerminal({ out: process.stdout, err: process.stderr, env: process.env }).printText(
      clean(`${manifest.team.name} is in ${folder}: ${rows} rows and ${manifest.files.count} files.`),
    );
  }
  if (manifest.faults.length > 0) {
    throw new OperatorFault(`${manifest.faults.length} files could not be read; manifest.json names them`);
  }
}

/** Names the part of the path that exists, and the command of root that makes the folder. */
function adviseFolder(folder: string): string {
  let there = path.dirname(folder);
  while (!existsSync(there)) there = path.dirname(there);
  const { username } = os.userInfo();
  const make = `install -d -o ${username} -m 700 ${folder}`;
  return `${folder} cannot be made in ${there}, or written, by the account ${username}; make an empty folder, as root: ${make}`;
}

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

const toRow = (team: TeamRow, deletion?: DeletionRow) => ({
  id: team.id,
  slug: team.slug,
  name: team.name,
  plan: team.plan_code,
  risk_state: team.risk_state,
  risk_reason: team.risk_reason,
  deletion: deletion ? presentDeletion(deletion) : null,
  created_at: new Date(team.created_at).toISOString(),
  admin_emails: team.admin_emails === null ? [] : (JSON.parse(team.admin_emails) as string[]),
});

const presentDeletion = (row: DeletionRow) => ({
  reason: row.reason,
  requested_by: row.requested_by,
  requested_at: isoTime(row.requested_at),
  due_at: isoTime(row.due_at),
  started_at: row.started_at === null ? null : isoTime(row.started_at),
  removed_at: row.removed_at === null ? null : isoTime(row.removed_at),
});

function formatState({ risk_state: state, deletion }: Row): string {
  if (deletion === null) return state;
  if (deletion.removed_at !== null) return 'deleted';
  return deletion.started_at === null ? `to be deleted on ${deletion.due_at.slice(0, 10)}` : 'being deleted';
}

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
    value: formatState,
    style: ({ risk_state: state }) => (state === 'normal' ? 'plain' : 'red'),
    fit: 'whole',
  },
  { title: 'ADMINS', value: formatAdmins },
  { title: 'REASON', value: ({ risk_reason: reason }) => reason ?? '' },
  { title: 'CREATED', value: ({ created_at: created }) => listTime(terminal, created), fit: 'whole' },
];
