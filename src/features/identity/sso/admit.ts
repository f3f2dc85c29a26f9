import { isUniqueViolation, type Executor } from '../../../platform/db/index.ts';
import type { Store } from '../../../platform/store.ts';
import { lockTeam } from '../../../tenancy/access/index.ts';
import { findOpenInvitationTo, noteAccepted } from '../invitations/invitations.store.ts';
import { findMemberByUser, insertMember } from '../../../tenancy/members/index.ts';
import { endSessionsOfUser } from '../../../tenancy/session-rows/index.ts';
import {
  connectionById,
  identityOfSubject,
  identityOfUser,
  insertIdentity,
  noteTested,
  ownerOfDomain,
  setSubject,
  type ConnectionRow,
} from '../../../tenancy/sso-rows/index.ts';
import {
  claimUnverified,
  toEmailKey,
  findUser,
  findUserByEmailKey,
  insertUser,
  type UserRow,
} from '../../../tenancy/users/index.ts';
import { parseDomainName, parseMailbox, splitAddress } from '../../../protocol/address/index.ts';

const EMAIL_CHARS_MAX = 320;

/** Returns a bare address as mail would be sent to it; undefined for anything else. */
export function readAddress(text: string): string | undefined {
  if (text.length > EMAIL_CHARS_MAX) return undefined;
  const parsed = parseMailbox(text.trim());
  return parsed.ok && parsed.mailbox.name === '' ? parsed.mailbox.address : undefined;
}

/** Returns the domain of an address in its stored form. */
export function domainOfAddress(address: string): string | undefined {
  const parsed = parseDomainName(splitAddress(address)?.domain ?? '');
  return parsed.ok ? parsed.domain : undefined;
}

/** Claims of a provider about a person, checked as far as the provider itself can be verified. */
export interface ProviderClaims {
  subject: string;
  email: string | undefined;
  /** True if the provider has verified that the address belongs to the person. */
  isVerified: boolean;
  name: string | undefined;
}

/** Reason why a person is not admitted although the provider authenticated them. */
export type Unadmitted =
  | 'connection_gone'
  | 'no_email'
  | 'unverified_email'
  | 'other_domain'
  | 'account_elsewhere'
  | 'other_identity'
  | 'removed';

export type Admission = { kind: 'admitted'; user: UserRow; teamId: string } | { kind: 'refused'; why: Unadmitted };

const refused = (why: Unadmitted): Admission => ({ kind: 'refused', why });

/**
 * Finds or creates the account of a person that a provider authenticated: by the provider's identity, otherwise by the
 * address, otherwise a new one. The address, and that of the account, must be in a domain that the team has proven: a
 * provider has no authority over any other address.
 */
export async function admit(store: Store, connectionId: string, claims: ProviderClaims): Promise<Admission> {
  if (claims.email === undefined) return refused('no_email');
  if (!claims.isVerified) return refused('unverified_email');
  const email = readAddress(claims.email);
  if (email === undefined) return refused('other_domain');
  const attempt = () => store.db.tx((tx) => admitWithin(tx, store, { connectionId, claims, email }));
  // Another request may create an account with this address at the same time; the second attempt finds it.
  return attempt().catch((error: unknown) => {
    if (isUniqueViolation(error)) return attempt();
    throw error;
  });
}

interface Arrival {
  connectionId: string;
  claims: ProviderClaims;
  email: string;
}

async function admitWithin(tx: Executor, store: Store, { connectionId, claims, email }: Arrival): Promise<Admission> {
  const teamId = (await connectionById(tx, connectionId))?.team_id;
  if (teamId === undefined) return refused('connection_gone');
  await lockTeam(tx, teamId);
  // Read after locking: the connection may have been replaced.
  const connection = await connectionById(tx, connectionId);
  if (!connection) return refused('connection_gone');
  if (!(await isOfTeam(tx, teamId, email))) return refused('other_domain');
  const known = await identityOfSubject(tx, connection.id, claims.subject);
  const found = known ? await findUser(tx, known.user_id) : await findUserByEmailKey(tx, toEmailKey(email));
  if (found && !(await isOfTeam(tx, teamId, found.email))) return refused('account_elsewhere');
  const linked = known ?? (found && (await identityOfUser(tx, connection.id, found.id)));
  if (linked && linked.subject !== null && linked.subject !== claims.subject) return refused('other_identity');
  const user = found ? await asTheirs(tx, store, found) : await make(tx, store, email, claims.name);
  const isIn = await join(tx, store, { connection, user, wasKnown: linked !== undefined });
  if (!isIn) return refused('removed');
  const now = store.clock.now();
  const link = { id: store.ids.uuid(), connection_id: connection.id, user_id: user.id, created_at: now };
  if (!linked) await insertIdentity(tx, { ...link, subject: claims.subject });
  else await setSubject(tx, linked.id, claims.subject);
  await noteTested(tx, connection.id, now);
  return { kind: 'admitted', user, teamId };
}

/**
 * Reports whether both forms of an address are in a proven domain of the team: the one used for mail, and the one used
 * to compare accounts.
 */
async function isOfTeam(tx: Executor, teamId: string, email: string): Promise<boolean> {
  for (const form of [email, toEmailKey(email)]) {
    const domain = domainOfAddress(form);
    if (domain === undefined || (await ownerOfDomain(tx, domain))?.team_id !== teamId) return false;
  }
  return true;
}

/**
 * Takes over an unverified account. Somebody may have signed up with an address that is not theirs, so what they set up
 * is removed.
 */
async function asTheirs(tx: Executor, { clock }: Store, user: UserRow): Promise<UserRow> {
  if (user.email_verified_at !== null) return user;
  await claimUnverified(tx, user.id, clock.now());
  await endSessionsOfUser(tx, user.id);
  return (await findUser(tx, user.id)) ?? user;
}

const NAME_CHARS_MAX = 200;

async function make(tx: Executor, store: Store, email: string, name: string | undefined): Promise<UserRow> {
  const now = store.clock.now();
  const shown = [...(name ?? '').replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim()].slice(0, NAME_CHARS_MAX).join('');
  const row: UserRow = {
    id: store.ids.uuid(),
    email,
    email_key: toEmailKey(email),
    name: shown || null,
    password_hash: null,
    email_verified_at: now,
    mfa_enabled_at: null,
    disabled_at: null,
    created_at: now,
  };
  await insertUser(tx, row);
  return row;
}

interface Joining {
  connection: ConnectionRow;
  user: UserRow;
  /** True if the person was linked to the team before; only an invitation lets a removed person back in. */
  wasKnown: boolean;
}

/**
 * Makes the person a member. An open invitation sets the role, and is used up. Returns whether the person is in the
 * team now.
 */
async function join(tx: Executor, store: Store, { connection, user, wasKnown }: Joining): Promise<boolean> {
  const { team_id: teamId, default_role: defaultRole } = connection;
  if (await findMemberByUser(tx, teamId, user.id)) return true;
  const now = store.clock.now();
  const open = await findOpenInvitationTo(tx, teamId, user.email_key);
  const invitation = open && open.expires_at > now ? open : undefined;
  if (wasKnown && !invitation) return false;
  const membership = { team_id: teamId, user_id: user.id, role: invitation?.role ?? defaultRole, sso_exempt: 0 };
  await insertMember(tx, { id: store.ids.uuid(), ...membership, created_at: now });
  if (invitation) await noteAccepted(tx, invitation.id, now);
  return true;
}
