import type { Operation, Role } from './document.ts';

/** Least first: each role may do everything that the roles before it may. */
export const ROLES = ['viewer', 'member', 'admin', 'owner'] as const satisfies readonly Role[];

/** The contract marks each operation with its role, as `x-service-role`; this describes the rule for each role. */
const MAY: Record<Role, string> = {
  viewer: 'reads what the team has, but for its audit log',
  member:
    'sends, and makes, changes and deletes content: emails, contacts, templates, broadcasts, automations, suppressions',
  admin:
    'reads the audit log, the prices and the invoices, and changes what the team sends and receives by: domains, API keys, webhooks, inbound rules, the settings of the team; invites, removes and gives roles to people who are no owners',
  owner: 'decides who the owners of the team are, and which plan it has where owners may',
};

/** The scope of operations that every app may call, whatever scopes it was granted. */
export const ANY_SCOPE = 'any';

/** The requirements that the contract declares for an operation. */
export interface Requirement {
  /** The least credential that may call it; null if neither a key nor a session may. */
  permission: Operation['x-service-permission'];
  /** The scope that a grant needs, `any` if every scope is enough; null if no grant may call it. */
  scope: string | null;
  /** A second scope that a grant needs. */
  also?: string | undefined;
  /** The least role that a session needs; null if it needs none or no session may call the operation. */
  role: Role | null;
}

/** Returns who may call an operation. All interfaces and the documentation read it here. */
export const readRequirement = (operation: Operation): Requirement => ({
  permission: operation['x-service-permission'],
  scope: operation['x-service-scope'],
  ...(typeof operation['x-service-scope-also'] === 'string' && { also: operation['x-service-scope-also'] }),
  role: operation['x-service-role'],
});

/** Returns the first field of a body that needs a scope which is not in `scopes`, with that scope. */
export function scopeOfFields(
  { 'x-service-scope-also': also }: Operation,
  body: unknown,
  scopes: readonly string[],
): { field: string; scope: string } | undefined {
  if (typeof also !== 'object' || typeof body !== 'object' || body === null) return undefined;
  const lacking = Object.entries(also).find(([field, scope]) => Object.hasOwn(body, field) && !scopes.includes(scope));
  return lacking && { field: lacking[0], scope: lacking[1] };
}

/** Returns the first field of a body that no app may set, with what it does. */
export function findFieldNotByApps(
  { 'x-service-not-by-apps': closed = {} }: Operation,
  body: unknown,
): { field: string; does: string } | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  const given = body as Record<string, unknown>;
  const found = Object.entries(closed).find(([field]) => Object.hasOwn(given, field) && given[field] !== false);
  return found && { field: found[0], does: found[1] };
}

/** Returns the scopes that a grant needs for an operation and does not have. */
export const scopesLacking = ({ scope, also }: Requirement, scopes: readonly string[]): string[] =>
  [scope, also].filter((one): one is string => typeof one === 'string' && one !== ANY_SCOPE && !scopes.includes(one));

/** The caller that an operation runs for: a team, a user independent of a team, an operator, or an anonymous caller. */
export type CallerKind = 'team' | 'user' | 'operator' | 'nobody';

export function toCallerKind({ permission, scope, role }: Requirement): CallerKind {
  // The steps of OAuth between an app and this service: their own credentials are no callers of the API.
  if (permission === 'none' || (permission === null && scope === null)) return 'nobody';
  if (permission === 'operator') return 'operator';
  return permission === 'session' && role === null ? 'user' : 'team';
}

/** The properties of a caller that decide which operations it may call. */
type Credential =
  | { kind: 'api_key'; permission: 'full_access' | 'sending_access' }
  | { kind: 'smtp_credential' }
  /** `role` is null while the user has no team, or has chosen none. */
  | { kind: 'session'; role: Role | null }
  /** `role` is that of the person who authorized the app, in the team that it acts for. */
  | { kind: 'oauth_grant'; scopes: readonly string[]; role: Role }
  | { kind: 'operator' }
  | { kind: 'job' };

/** `sends_only`, `lacks_scope`, `lacks_role` and `lacks_team`: another credential of the same kind would do. */
type Reach = 'reached' | 'sends_only' | 'lacks_scope' | 'lacks_role' | 'lacks_team' | 'other_kind';

/**
 * Reports whether a caller may call an operation. Every interface uses this, and the documentation of an operation
 * describes the result.
 */
export function checkPermission(credential: Credential, requirement: Requirement): Reach {
  const { permission, scope } = requirement;
  if (permission === 'none') return 'reached';
  switch (credential.kind) {
    case 'job':
      return 'reached';
    case 'operator':
      return permission === 'operator' ? 'reached' : 'other_kind';
    case 'api_key':
      if (permission === 'sending_access') return 'reached';
      if (credential.permission === 'sending_access') return 'sends_only';
      return permission === 'full_access' ? 'reached' : 'other_kind';
    case 'smtp_credential':
      return permission === 'sending_access' ? 'reached' : 'sends_only';
    case 'session':
      return reachOfSession(credential.role, requirement);
    case 'oauth_grant':
      if (scope === null) return 'other_kind';
      if (scopesLacking(requirement, credential.scopes).length > 0) return 'lacks_scope';
      return requirement.role === null || isAtLeast(credential.role, requirement.role) ? 'reached' : 'lacks_role';
  }
}

function reachOfSession(held: Role | null, { permission, role: least }: Requirement): Reach {
  if (permission === null || permission === 'operator') return 'other_kind';
  // No session may call a team's operation that declares no role.
  if (least === null) return permission === 'session' ? 'reached' : 'other_kind';
  if (held === null) return 'lacks_team';
  return isAtLeast(held, least) ? 'reached' : 'lacks_role';
}

const isAtLeast = (held: Role, least: Role): boolean => ROLES.indexOf(held) >= ROLES.indexOf(least);

/**
 * Returns the schemes of `components.securitySchemes` that give access to an operation: one of them is enough. A
 * session comes with a cookie, or as the token of a program that its person has approved.
 */
export function buildSecurity(requirement: Requirement): Record<string, string[]>[] {
  if (requirement.permission === 'none') return [];
  const takesSession = ROLES.some((role) => checkPermission({ kind: 'session', role }, requirement) === 'reached');
  return [{ bearer: [] }, ...(takesSession ? [{ session: [] }] : [])];
}

/**
 * Describes who may call an operation over HTTP, as a sentence of its description; `other` is a credential of its own.
 */
export function describeAccess(requirement: Requirement, other = ''): string {
  const { permission, scope, also } = requirement;
  if (permission === 'none') return 'Needs no credential.';
  const reaches = (credential: Credential): boolean => checkPermission(credential, requirement) === 'reached';
  const key = (['sending_access', 'full_access'] as const).find((least) =>
    reaches({ kind: 'api_key', permission: least }),
  );
  const ways = [
    key === undefined ? '' : `an API key with \`${key}\``,
    sessionInWords(reaches),
    scope !== null && reaches({ kind: 'oauth_grant', scopes: [scope, also ?? scope], role: 'owner' })
      ? `an access token${tokenInWords(scope, also)}`
      : '',
    reaches({ kind: 'operator' }) ? 'the token of an operator' : '',
    other,
  ].filter(Boolean);
  return ways.length === 0 ? 'No credential reaches it.' : `Needs ${joinWithOr(ways)}.`;
}

function tokenInWords(scope: string, also: string | undefined): string {
  if (also !== undefined) return ` with both \`${scope}\` and \`${also}\``;
  return scope === ANY_SCOPE ? '' : ` with \`${scope}\``;
}

function sessionInWords(reaches: (credential: Credential) => boolean): string {
  if (reaches({ kind: 'session', role: null })) return 'a dashboard session';
  const least = ROLES.find((role) => reaches({ kind: 'session', role }));
  if (least === undefined) return '';
  return `a dashboard session as \`${least}\`${least === ROLES.at(-1) ? '' : ' or higher'}`;
}

const joinWithOr = (ways: readonly string[]): string =>
  [ways.slice(0, -1).join(', '), ...ways.slice(-1)].filter(Boolean).join(' or ');

/** Renders the permissions of each role as a table of the introduction. */
export const describeRoles = (): string =>
  ['| Role | What it may do |', '| --- | --- |', ...ROLES.map((role) => `| \`${role}\` | ${MAY[role]} |`)].join('\n');

/**
 * All scopes of apps that act for a person, with the wording of the consent page. An operation names its scope as
 * `x-service-scope`.
 */
export const SCOPES = {
  'emails:send': 'Send emails from your team’s domains, and reschedule or cancel scheduled emails',
  'emails:read': 'Read sent and received emails with their content and attachments, and create share links to them',
  'inbox:read': 'Read your inboxes with their threads, notes and drafts',
  'inbox:write': 'Send emails from your inboxes, organize and delete threads, and create, change and delete inboxes',
  'templates:read': 'Read your templates',
  'templates:write': 'Create, change, publish and delete templates',
  'contacts:read': 'Read and export your contacts with their properties, segments and topics',
  'contacts:write': 'Create, change, import and delete contacts, properties, segments and topics',
  'broadcasts:read': 'Read your broadcasts with their recipients and reports, and your images',
  'broadcasts:write': 'Create, change, send and delete broadcasts to your contacts, and manage your images',
  'events:read': 'Read the definitions of your custom events',
  'events:write': 'Create, change and delete the definitions of custom events',
  'events:send': 'Report custom events about your contacts, which can start automations',
  'automations:read': 'Read automations and their runs',
  'automations:write': 'Create, change, stop and delete automations',
  'logs:read': 'Read the logs of your team’s API requests, with the content of requests that the app may make itself',
  'team:read': 'Read your team’s profile, plan and sender identity',
  'team:write': 'Change your team’s sender identity and settings',
  'ai:use': 'Use the AI features, which cost credits and send the content that they work on to an AI model',
  'billing:read': 'Read your team’s plan, prices and invoices',
  'usage:read': 'Read how much your team sends and stores, and the quotas of its plan',
  'domains:read': 'Read your domains with their DNS records, state and reports',
  'webhooks:read': 'Read your webhooks with their addresses, the content of their events and delivery attempts',
  'suppressions:read': 'Read the addresses that your team does not send to, with the reasons',
  'suppressions:write': 'Add and remove addresses that your team does not send to',
  'inbound_rules:read': 'Read the rules for mail that your team receives',
  'findings:read': 'Read what is wrong or needs attention in your team',
} as const;

export type Scope = keyof typeof SCOPES;

export const SCOPE_NAMES = Object.keys(SCOPES) as Scope[];

export const isScope = (name: string): name is Scope => Object.hasOwn(SCOPES, name);

/** The scopes of an app that requests none by name. */
export const READING_SCOPES = SCOPE_NAMES.filter((name) => name.endsWith(':read'));

/**
 * The scopes that a client of /mcp asks for first: everything that is read, and what its tools prepare and send. It asks
 * for others when a call needs them.
 */
export const ASSISTANT_SCOPES: readonly Scope[] = [
  ...READING_SCOPES,
  'emails:send',
  'inbox:write',
  'templates:write',
  'contacts:write',
  'broadcasts:write',
  'events:send',
];

/** Renders the scopes as a table of the introduction. */
export const describeScopes = (): string =>
  [
    '| Scope | What it allows |',
    '| --- | --- |',
    ...SCOPE_NAMES.map((name) => `| \`${name}\` | ${SCOPES[name]} |`),
  ].join('\n');
