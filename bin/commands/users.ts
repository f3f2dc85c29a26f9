import { ROLES, type Role } from '../../src/contract/index.ts';
import { newToken } from '../../src/platform/secrets/index.ts';
import type { Store } from '../../src/platform/store.ts';
import { notFound } from '../../src/platform/refusal.ts';
import {
  makePasswordReset,
  notifyByMail as tellPerson,
  inviteByOperator,
  resetMfa,
} from '../../src/features/identity/index.ts';
import { hasMembers, insertMember, teamsOfLastWayIn } from '../../src/tenancy/members/index.ts';
import { findNamedTeam } from '../../src/tenancy/teams/index.ts';
import {
  createUser,
  disableUser,
  toEmailKey,
  enableUser,
  findUserByEmailKey,
  listUsers,
  type UserRow,
} from '../../src/tenancy/users/index.ts';
import { clean, cleanJson, type Column, listTime, type Terminal } from '../../cli/output/index.ts';
import { OperatorFault } from '../explain.ts';
import { dataFolder, readConfig, whereListed, withStore, type DataOptions } from './open.ts';
import { printRows } from './print-rows.ts';
import { findServerAddress } from './ready-file.ts';

const REASON_CHARS_MAX = 200;

type Options = DataOptions & { json?: boolean; wide?: boolean };

/** The password is generated here, so that it appears in no list of processes and nobody has guessed it before. */
export async function createNamedUser(
  email: string,
  { name, team, role: wanted, ...options }: Options & { name?: string; team: string; role?: string },
): Promise<void> {
  const password = newToken('');
  // Completed below, before the entry is written.
  const details = { email, role: wanted === undefined ? undefined : readRole(wanted) };
  const about = async ({ db }: Store) => {
    const id = (await findNamedTeam(db, team))?.id;
    if (id === undefined) return {};
    // A team needs an owner to invite the others.
    details.role ??= (await hasMembers(db, id)) ? 'member' : 'owner';
    return { teamId: id };
  };
  const make = async (store: Store): Promise<UserRow> => {
    const into = await findNamedTeam(store.db, team);
    if (!into || !details.role) throw notFound('Team');
    const role = details.role;
    return createUser(store, { email, name, password, isVerified: true }, (tx, user) => {
      const row = { id: store.ids.uuid(), team_id: into.id, user_id: user.id, created_at: user.created_at };
      return insertMember(tx, { ...row, role, sso_exempt: 0 });
    });
  };
  const audit = { action: 'user.created', details, about };
  const making = () => withStore(readConfig(options), dataFolder(options), make, { audit });
  const user = await whereListed('rasket teams list', options, making, 'rasket users list');
  const { role } = details;
  if (options.json) return console.log(cleanJson({ ...shown(user), team, role, password }));
  console.log(`${user.email} is ${role} of ${team}. The password is shown only once:\n\n  ${password}\n`);
}

function readRole(wanted: string): Role {
  const role = ROLES.find((one) => one === wanted);
  if (role) return role;
  throw new OperatorFault(`--role must be ${ROLES.join(', ')}; got ${wanted}`, 'usage');
}

/** Prints a reset link for a user who cannot receive mail, to be handed over by other means. */
export async function resetNamedUser(
  email: string,
  { reason, ...options }: Options & { reason: string },
): Promise<void> {
  const config = readConfig(options);
  const folder = dataFolder(options);
  const about = async ({ db }: Store) => {
    const id = (await findUserByEmailKey(db, toEmailKey(email)))?.id;
    return id === undefined ? {} : { subjectId: id };
  };
  const audit = { action: 'password.reset_requested', details: { email, reason }, about };
  const made = await whereListed('rasket users list', options, () =>
    withStore(config, folder, (store) => makePasswordReset(store, email), { audit }),
  );
  const url = `${findServerAddress(folder, config)}/reset-password?token=${made.token}`;
  if (options.json) return console.log(cleanJson({ email: made.user.email, url, expires_at: made.expiresAt }));
  console.log(
    `With this link, ${made.user.email} can set a new password once, until ${made.expiresAt}. The link is shown only once:\n\n  ${url}\n`,
  );
}

export async function inviteNamedUser(
  email: string,
  {
    team,
    role: wanted = 'member',
    mail = false,
    ...options
  }: Options & { team: string; role?: string; mail?: boolean },
): Promise<void> {
  const role = readRole(wanted);
  const config = readConfig(options);
  const folder = dataFolder(options);
  const about = async ({ db }: Store) => {
    const id = (await findNamedTeam(db, team))?.id;
    return id === undefined ? {} : { teamId: id };
  };
  const invite = async (store: Store) => {
    const into = await findNamedTeam(store.db, team);
    if (!into) throw notFound('Team');
    return inviteByOperator(store, { teamId: into.id, email, role, isMailed: mail });
  };
  const audit = { action: 'invitation.created', details: { email, role }, about };
  const { row, token } = await whereListed('rasket teams list', options, () =>
    withStore(config, folder, invite, { audit }),
  );
  const url = mail ? null : `${findServerAddress(folder, config)}/invitation?token=${token}`;
  const expires_at = new Date(row.expires_at).toISOString();
  if (options.json) return console.log(cleanJson({ id: row.id, email: row.email, team, role, url, expires_at }));
  if (url === null) return console.log(`The server sends ${row.email} an invitation to ${team} as ${role}.`);
  console.log(
    `With this link, ${row.email} can join ${team} as ${role} once, until ${expires_at}. The link is shown only once:\n\n  ${url}\n`,
  );
}

export async function printUsers(options: Options): Promise<void> {
  const rows = await withStore(readConfig(options), dataFolder(options), (store) => listUsers(store.db));
  const none = 'There are no users yet. Make one with: rasket users create ADDRESS --team SLUG';
  printRows(rows.map(shown), columnsFor, { ...options, none });
}

/** The person is signed out everywhere, and signs in nowhere. */
export const disableNamedUser = (email: string, options: ChangeOptions): Promise<void> =>
  change(email, options, {
    action: 'user.disabled',
    change: disableUser,
    tell: ({ email: address, invitations_withdrawn: withdrawn }) =>
      `${address} is disabled: all sessions have ended, and sign-ins are refused. Open invitations from this person that were withdrawn: ${withdrawn}.`,
    more: ({ invitations_withdrawn }) => ({ invitations_withdrawn }),
    warn: warnOfLastWayIn,
  });

export const enableNamedUser = (email: string, options: ChangeOptions): Promise<void> =>
  change(email, options, {
    action: 'user.enabled',
    change: enableUser,
    tell: ({ email: address }) => `${address} is enabled, and may sign in again.`,
  });

export const disableMfaOfUser = (email: string, options: ChangeOptions): Promise<void> =>
  change(email, options, {
    action: 'user.mfa_disabled',
    change: (store, address) => resetMfa(store, address, tellPerson),
    tell: ({ email: address }) => `${address} now signs in with the password only; all sessions have ended.`,
  });

/** Only a warning, not a refusal: keeping somebody out comes first. */
const warnOfLastWayIn = async ({ db }: Store, { id }: UserRow): Promise<string[]> =>
  (await teamsOfLastWayIn(db, id)).map(
    ({ name, slug }) =>
      `The team ${name} enforces single sign-on, and no remaining owner can sign in without it; if its provider does not respond, nobody can sign in. To allow passwords: rasket teams sso-off ${slug} --reason TEXT`,
  );

type ChangeOptions = Options & { reason: string };

interface Change<Changed extends UserRow> {
  action: string;
  change: (store: Store, email: string) => Promise<Changed>;
  tell: (user: Changed) => string;
  /** The text to print about the user. */
  more?: (user: Changed) => object;
  /** Warnings for the operator about the consequences. */
  warn?: (store: Store, user: UserRow) => Promise<string[]>;
}

async function change<Changed extends UserRow>(
  email: string,
  { reason, ...options }: ChangeOptions,
  wanted: Change<Changed>,
): Promise<void> {
  const why = reason.trim();
  if (why === '' || why.length > REASON_CHARS_MAX || /[\p{Cc}\p{Zl}\p{Zp}]/u.test(why)) {
    throw new OperatorFault(`--reason must be one line of 1 to ${REASON_CHARS_MAX} characters`, 'usage');
  }
  const about = async ({ db }: Store) => {
    const id = (await findUserByEmailKey(db, toEmailKey(email)))?.id;
    return id === undefined ? {} : { subjectId: id };
  };
  const audit = { action: wanted.action, details: { email, reason: why }, about };
  const make = async (store: Store) => {
    const row = await wanted.change(store, email);
    return { row, warnings: (await wanted.warn?.(store, row)) ?? [] };
  };
  const { row, warnings } = await whereListed('rasket users list', options, () =>
    withStore(readConfig(options), dataFolder(options), make, { audit }),
  );
  console.log(options.json ? cleanJson({ ...shown(row), ...wanted.more?.(row) }) : wanted.tell(row));
  for (const warning of warnings) console.error(clean(warning));
}

const columnsFor = (terminal: Terminal): Column<ReturnType<typeof shown>>[] => [
  { title: 'ID', value: ({ id }) => id, fit: 'whole' },
  { title: 'EMAIL', value: ({ email }) => email, fit: 'name' },
  { title: 'NAME', value: ({ name }) => name ?? '' },
  {
    title: 'STATE',
    value: ({ state }) => state,
    style: ({ state }) => (state === 'active' ? 'plain' : 'red'),
    fit: 'whole',
  },
  { title: 'MFA', value: ({ mfa_enabled_at: at }) => (at === null ? 'off' : 'on'), fit: 'whole' },
  { title: 'CREATED', value: ({ created_at: created }) => listTime(terminal, created), fit: 'whole' },
];

const shown = (row: UserRow) => ({
  id: row.id,
  email: row.email,
  name: row.name,
  state: row.disabled_at === null ? 'active' : 'disabled',
  disabled_at: timeOrNull(row.disabled_at),
  mfa_enabled_at: timeOrNull(row.mfa_enabled_at),
  created_at: new Date(row.created_at).toISOString(),
});

const timeOrNull = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString());
