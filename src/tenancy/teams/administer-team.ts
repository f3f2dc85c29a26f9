import { isUniqueViolation, type Executor } from '../../platform/db/index.ts';
import { refuse, notFound } from '../../platform/refusal.ts';
import type { Store } from '../../platform/store.ts';
import { issueApiKey } from '../api-keys/index.ts';
import {
  insertTeam,
  changeTeam,
  findNamedTeam,
  insertTeamPlan,
  type RiskState,
  type TeamColumns,
  type TeamRow,
} from './teams.store.ts';
import { mustNotBeDeleted } from './deletions.ts';
import { isPlan } from '../../platform/config/index.ts';
import { lockTeam } from '../access/index.ts';
import { normalizeAddress, parseMailbox } from '../../protocol/address/index.ts';
import { isUuid } from '../../platform/ids.ts';

const ADMINS_MAX = 20;

/**
 * Reads the addresses to notify about the team: bare addresses, each once. There may be none, in which case such events
 * are only logged.
 */
function readAdminEmails(texts: readonly string[]): string[] {
  const addresses = new Map<string, string>();
  for (const text of texts) {
    const parsed = parseMailbox(text);
    if (!parsed.ok) throw unusable(`The admin address ${JSON.stringify(text.slice(0, 320))}: ${parsed.fault}`);
    const { address, name } = parsed.mailbox;
    if (name !== '') throw unusable(`The admin address ${JSON.stringify(text.slice(0, 320))} must not contain a name.`);
    const key = normalizeAddress(address);
    if (!addresses.has(key)) addresses.set(key, address);
  }
  if (addresses.size <= ADMINS_MAX) return [...addresses.values()];
  throw unusable(`A team may have at most ${ADMINS_MAX} admin addresses; got ${addresses.size}.`);
}

const unusable = (say: string) => refuse('validation_error', { status: 422, say });

const NAME_CHARS_MAX = 200;

/**
 * Invisible characters that make a name look like another one: controls, line breaks, bidirectional and zero-width
 * characters.
 */
const UNSEEN = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/u;

const SEEN = /[\p{L}\p{N}\p{P}\p{S}]/u;

/**
 * Returns the trimmed name: one line of 1 to 200 visible characters. Throws if its slug would have the form of an id.
 */
export function readTeamName(text: string): string {
  const name = text.trim();
  if (UNSEEN.test(name)) {
    throw refuse('validation_error', {
      status: 422,
      say: "A team's name must be one line without control, bidirectional and zero-width characters.",
    });
  }
  if (isUuid(toSlug(name))) {
    throw refuse('validation_error', {
      status: 422,
      say: "A team's name must not have the form of an id, because teams are also identified by id; choose another name.",
    });
  }
  if (!SEEN.test(name) || name.length > NAME_CHARS_MAX) {
    throw refuse('validation_error', {
      status: 422,
      say: `A team's name must have 1 to ${NAME_CHARS_MAX} characters; got ${name.length}.`,
    });
  }
  return name;
}

/**
 * Makes the slug of a name. Letters of every script are kept; otherwise all names in another script would share a slug.
 */
export function toSlug(name: string): string {
  const slug = name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .normalize('NFC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .replace(/^-+|-+$/g, '');
  return [...slug].slice(0, 60).join('') || 'team';
}

export interface TeamChange {
  /** The slug stays: commands and notes refer to it. */
  name?: string | undefined;
  plan?: string | undefined;
  riskState?: RiskState | undefined;
  /** The reason for a suspension. A team that is resumed has none. */
  riskReason?: string | undefined;
  /** Replaces those named before. */
  adminEmails?: readonly string[] | undefined;
}

/** Changes a team as its operator, found by its slug or its id. Applies to the team's very next request. */
export async function administerTeam(store: Store, slugOrId: string, input: TeamChange): Promise<TeamRow> {
  const change: TeamColumns = {};
  if (input.name !== undefined) change.name = readTeamName(input.name);
  if (input.plan !== undefined) change.plan_code = knownPlan(store, input.plan);
  if (input.riskState !== undefined) {
    change.risk_state = input.riskState;
    change.risk_reason = input.riskReason ?? null;
  }
  if (input.adminEmails !== undefined) change.admin_emails = JSON.stringify(readAdminEmails(input.adminEmails));
  return store.db.tx(async (tx) => {
    const team = await findNamedTeam(tx, slugOrId);
    if (!team) throw notFound(`Team ${JSON.stringify(slugOrId)}`);
    if (input.riskState !== undefined) await mustNotBeDeleted(tx, team);
    const { plan_code: code, ...rest } = change;
    if (Object.keys(rest).length > 0) await changeTeam(tx, team.id, rest);
    if (code !== undefined) await changePlan(store, tx, team.id, code);
    return { ...team, ...change };
  });
}

/** Gives a team another plan from now on, and records the time: days of a month are charged by it. */
export async function changePlan(store: Store, tx: Executor, teamId: string, code: string): Promise<void> {
  if ((await lockTeam(tx, teamId)) === code) return;
  await changeTeam(tx, teamId, { plan_code: code });
  await insertTeamPlan(tx, { id: store.ids.uuid(), teamId, code, since: store.clock.now() });
}

export function knownPlan({ config }: Store, code: string): string {
  if (isPlan(config, code)) return code;
  const known = Object.keys(config.plans).join(', ');
  throw refuse('validation_error', {
    status: 422,
    say: `There is no plan ${JSON.stringify(code)} in the configuration; the plans are ${known}.`,
  });
}

export interface NewTeam {
  teamId: string;
  slug: string;
  /** Shown once; only its hash is kept. */
  apiKey: string;
}

/** Makes a team and its first full-access key in one transaction. */
export async function createTeam(
  store: Store,
  input: { name: string; adminEmails?: readonly string[] | undefined },
): Promise<NewTeam> {
  const name = readTeamName(input.name);
  const admins = readAdminEmails(input.adminEmails ?? []);
  const teamId = store.ids.uuid();
  const slug = toSlug(name);
  try {
    return await store.db.tx(async (tx) => {
      await insertTeam(tx, {
        id: teamId,
        name,
        slug,
        risk_state: 'normal',
        plan_code: store.config.team.default_plan,
        created_at: store.clock.now(),
        admin_emails: admins.length === 0 ? null : JSON.stringify(admins),
      });
      const key = await issueApiKey(store, tx, {
        teamId,
        name: 'First key',
        permission: 'full_access',
        domainId: null,
      });
      return { teamId, slug, apiKey: key.token };
    });
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    throw refuse('validation_error', {
      status: 422,
      say: `A team named ${slug} already exists; choose another name.`,
    });
  }
}
