import type { TeamObject, PostalAddress, UpdateTeamRequest } from '../../contract/index.ts';
import { isUniqueViolation, type Page, type Executor } from '../../platform/db/index.ts';
import { invalidFields, notFound, refuse } from '../../platform/refusal.ts';
import type { UserCtx, Ctx } from '../access/index.ts';
import { countOwned, findMemberByUser, insertMember, leadsSuspended, lockAccount } from '../members/index.ts';
import { moveSession, mustHaveUsedPassword, ssoTeamOfSession } from '../session-rows/index.ts';
import { isEnforced, listConnections, listProvenDomains, deriveSsoStatus } from '../sso-rows/index.ts';
import { readTeamName, toSlug } from './administer-team.ts';
import {
  findTeam,
  insertTeam,
  listUserTeams,
  changeTeam,
  setMissingAddress,
  setMissingArchiveToken,
  type TeamColumns,
  type TeamRow,
} from './teams.store.ts';
import { planNamed, type Config } from '../../platform/config/index.ts';
import { randomSecret } from '../../platform/secrets/index.ts';
import type { Store } from '../../platform/store.ts';

const OWNED_MAX = 20;

export async function listOwnTeams({ store, actor }: UserCtx, page: Page) {
  const ssoTeamId = await ssoTeamOfSession(store.db, actor.sessionId);
  const { rows, hasMore } = await listUserTeams(store.db, { userId: actor.userId, ssoTeamId }, page);
  return { object: 'list' as const, has_more: hasMore, data: await presentTeams(store, rows) };
}

/** Makes a team owned by the calling person. It has no key yet: its people make the keys that they need. */
export async function foundTeam(ctx: UserCtx, input: { name: string }): Promise<TeamObject> {
  await mustHaveUsedPassword(ctx.store.db, ctx.actor.sessionId);
  const name = readTeamName(input.name);
  const slug = toSlug(name);
  try {
    return await insertOwned(ctx, { name, slug });
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    // This person may learn nothing about other teams, not even their names.
    return insertOwned(ctx, { name, slug: `${slug}-${ctx.store.ids.uuid().slice(-8)}` });
  }
}

async function insertOwned({ store, actor }: UserCtx, { name, slug }: { name: string; slug: string }) {
  const { userId } = actor;
  const teamId = store.ids.uuid();
  const now = store.clock.now();
  return store.db.tx(async (tx) => {
    const account = await lockAccount(tx, userId);
    if (!account || account.email_verified_at === null) {
      throw refuse('invalid_permission', { say: 'Verify your email address before you create a team.' });
    }
    // Otherwise a suspended team would go on as another one.
    if (await leadsSuspended(tx, userId)) {
      throw refuse('invalid_permission', {
        say: 'A team of which you are an owner or admin is suspended; you cannot create another team until the suspension ends.',
      });
    }
    if ((await countOwned(tx, userId)) >= OWNED_MAX) {
      throw refuse('validation_error', { status: 422, say: `A person can own at most ${OWNED_MAX} teams.` });
    }
    const plan = store.config.team.default_plan;
    const team = { id: teamId, name, slug, risk_state: 'normal' as const, plan_code: plan, created_at: now };
    await insertTeam(tx, { ...team, admin_emails: JSON.stringify([account.email]) });
    const membership = { team_id: teamId, user_id: userId, role: 'owner' as const, sso_exempt: 0, created_at: now };
    await insertMember(tx, { id: store.ids.uuid(), ...membership });
    const row = await findTeam(tx, teamId);
    if (!row) throw new Error('team row missing after insert');
    return presentTeam({ config: store.config, origin: store.origin, db: tx }, row);
  });
}

/**
 * Switches the session to another team. The person must be in it; any other team is reported as one that does not
 * exist.
 */
export async function switchTeam({ store, actor }: UserCtx, id: string): Promise<TeamObject> {
  const { sessionId, userId } = actor;
  const teamId = id.toLowerCase();
  const row = await store.db.tx(async (tx) => {
    if (!(await findMemberByUser(tx, teamId, userId))) return undefined;
    if (await moveSession(tx, { sessionId, userId, teamId })) return findTeam(tx, teamId);
    await mustHaveUsedPassword(tx, sessionId);
    if (await isEnforced(tx, teamId)) throw demandsSso(store.origin());
    return undefined;
  });
  if (!row) throw notFound('Team');
  return presentTeam(store, row);
}

const demandsSso = (origin: string) =>
  refuse('invalid_permission', {
    say: `This team enforces single sign-on; sign in through its provider: ${origin}/auth/sso/start`,
  });

/**
 * Changes the settings of a team. Marketing mail has to name its sender and a postal address, so a sender's name is
 * accepted only with an address.
 */
export async function updateTeam(ctx: Ctx, input: UpdateTeamRequest): Promise<TeamObject> {
  const { sender_name: name, postal_address: address, ai_assist_enabled: assist } = input;
  const change: TeamColumns = {};
  if (name !== undefined) change.sender_name = name.trim();
  if (address !== undefined) change.postal_address = JSON.stringify(readAddress(address));
  if (assist !== undefined) change.ai_assist_enabled = assist ? 1 : 0;
  if (input.default_language !== undefined) change.default_language = input.default_language;
  if (input.language_property !== undefined) change.language_property = input.language_property;
  if (input.logo_url !== undefined) change.logo_url = input.logo_url && readLogoUrl(ctx.store, input.logo_url);
  if (input.accent_color !== undefined) change.accent_color = input.accent_color?.toLowerCase() ?? null;
  for (const field of WORDS) {
    const words = input[field];
    if (words !== undefined) change[field] = words?.trim() ?? null;
  }
  if (input.marketing_cap !== undefined) {
    change.marketing_cap = input.marketing_cap && JSON.stringify(input.marketing_cap);
  }
  if (input.archive_enabled !== undefined) change.archive_enabled = input.archive_enabled ? 1 : 0;
  if (input.archive_indexed !== undefined) change.archive_indexed = input.archive_indexed ? 1 : 0;
  const onlyWithAddress = name !== undefined && address === undefined;
  await ctx.store.db.tx(async (tx) => {
    if (input.archive_enabled === true) await setMissingArchiveToken(tx, ctx.teamId, newArchiveToken());
    const isChanged = await changeTeam(tx, ctx.teamId, change, { onlyWithAddress });
    if (!isChanged && onlyWithAddress) {
      throw refuse('validation_error', {
        status: 422,
        say: 'This team has no postal address yet; send postal_address together with sender_name.',
      });
    }
  });
  return getTeam(ctx);
}

const ARCHIVE_TOKEN_BYTES = 16;

const newArchiveToken = (): string => randomSecret(ARCHIVE_TOKEN_BYTES).toString('base64url');

/** Gives the archive of a team a new address; the old one ends. */
export async function renewArchive(ctx: Ctx): Promise<TeamObject> {
  await changeTeam(ctx.store.db, ctx.teamId, { archive_token: newArchiveToken() });
  return getTeam(ctx);
}

/** Returns the address of the public archive of a team; null while it is off. */
export const buildArchiveUrl = (
  origin: string,
  { archive_enabled: isEnabled, archive_token: token }: Pick<TeamRow, 'archive_enabled' | 'archive_token'>,
): string | null => (isEnabled === 1 && token !== null ? `${origin}/archive/${token}` : null);

/** The largest number of marketing emails for a contact within a number of days. */
export interface MarketingCap {
  emails: number;
  days: number;
}

/** Returns the limit of marketing emails for each contact of a team; null without one. */
export const readMarketingCap = ({ marketing_cap: cap }: Pick<TeamRow, 'marketing_cap'>): MarketingCap | null =>
  cap === null ? null : (JSON.parse(cap) as MarketingCap);

/** The team's own words on its pages. */
const WORDS = ['page_headline', 'page_intro', 'page_goodbye'] as const;

/** Reads the address of a logo: an image that this server serves, or any by https. */
function readLogoUrl(store: Store, text: string): string {
  const url = URL.parse(text);
  const isServedHere = url !== null && url.origin === new URL(store.origin()).origin;
  if (url === null || !(url.protocol === 'https:' || isServedHere) || url.username !== '' || url.password !== '') {
    const message = 'logo_url must be the https address of an image, without a user name and a password.';
    throw invalidFields([{ path: 'logo_url', message }]);
  }
  return url.href;
}

function readAddress(input: NonNullable<UpdateTeamRequest['postal_address']>): PostalAddress {
  return {
    line1: input.line1.trim(),
    line2: input.line2?.trim() ?? null,
    city: input.city.trim(),
    state: input.state?.trim() ?? null,
    postal_code: input.postal_code?.trim() ?? null,
    country: input.country,
  };
}

export async function getTeam(ctx: Ctx): Promise<TeamObject> {
  const row = await findTeam(ctx.store.db, ctx.teamId);
  if (!row) throw notFound('Team');
  return presentTeam(ctx.store, row);
}

/** Presents teams in their order. */
export async function presentTeams(presenting: Presenting, rows: readonly TeamRow[]): Promise<TeamObject[]> {
  const sso = await loadSso(
    presenting.db,
    rows.map(({ id }) => id),
  );
  return rows.map((row) => present(presenting, row, sso.get(row.id) ?? null));
}

export async function presentTeam(store: Presenting, row: TeamRow): Promise<TeamObject> {
  const [team] = await presentTeams(store, [row]);
  if (!team) throw new Error('no presentation was returned for a team');
  return team;
}

/** The database may be a transaction. */
type Presenting = Pick<Store, 'config' | 'origin'> & { db: Executor };

async function loadSso(db: Executor, teamIds: readonly string[]): Promise<Map<string, TeamObject['sso']>> {
  const connections = await listConnections(db, teamIds);
  if (connections.length === 0) return new Map();
  const proven = await listProvenDomains(
    db,
    connections.map(({ team_id: id }) => id),
  );
  return new Map(
    connections.map((row) => {
      const domains = proven.filter(({ team_id: id }) => id === row.team_id).map(({ domain }) => domain);
      const { issuer, client_id } = row;
      const sso = {
        status: deriveSsoStatus(row, domains.length),
        issuer,
        client_id,
        enforced: row.enforced === 1,
        domains,
      };
      return [row.team_id, sso];
    }),
  );
}

function present({ config, origin }: Presenting, row: TeamRow, sso: TeamObject['sso']): TeamObject {
  return {
    object: 'team',
    id: row.id,
    name: row.name,
    slug: row.slug,
    risk_state: row.risk_state,
    created_at: new Date(row.created_at).toISOString(),
    plan: presentPlan(config, row.plan_code),
    sender_identity: {
      sender_name: row.sender_name,
      postal_address: row.postal_address === null ? null : (JSON.parse(row.postal_address) as PostalAddress),
    },
    default_language: row.default_language,
    language_property: row.language_property,
    logo_url: row.logo_url,
    accent_color: row.accent_color,
    page_headline: row.page_headline,
    page_intro: row.page_intro,
    page_goodbye: row.page_goodbye,
    marketing_cap: readMarketingCap(row),
    archive_enabled: row.archive_enabled === 1,
    archive_indexed: row.archive_indexed === 1,
    archive_url: buildArchiveUrl(origin(), row),
    ai_assist_enabled: row.ai_assist_enabled === 1,
    sso,
    sending: {
      sandbox_regions: Object.keys(config.regions).filter((name) => config.regions[name]?.sandbox),
    },
  };
}

/** Presents a plan; one that is not in the config is shown as the plan it counts as. */
function presentPlan(config: Config, planCode: string): TeamObject['plan'] {
  const { code, plan } = planNamed(config, planCode);
  return {
    code,
    name: plan.name,
    limits: {
      included_emails: plan.included_emails,
      daily_cap: plan.daily_cap,
      domain_limit: plan.domain_limit,
      webhook_endpoint_limit: plan.webhook_endpoint_limit,
      contact_limit: plan.contact_limit,
      retention_days: plan.retention_days,
    },
  };
}

/** An address that nobody mistakes for a real one. */
const PLACEHOLDER: PostalAddress = {
  line1: 'Placeholder Street 1',
  line2: null,
  city: 'Playground',
  state: null,
  postal_code: '00000',
  country: 'US',
};

/**
 * Gives a team without a postal address a placeholder, so that its broadcasts can be sent. For the development profile
 * alone: mail that reaches people has to name the address of its sender.
 */
export async function keepPlaceholderAddress(store: Store, teamId: string): Promise<void> {
  if (store.config.profile !== 'development') throw new Error('placeholder address outside the development profile');
  await setMissingAddress(store.db, teamId, JSON.stringify(PLACEHOLDER));
}
