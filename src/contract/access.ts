import type { Operation, Role } from './document.ts';

/** Least first: each role may do what those before it may. */
export const ROLES = ['viewer', 'member', 'admin', 'owner'] as const satisfies readonly Role[];

/** Which operation is whose stands with the operation, as `x-service-role`; this says by which rule. */
const MAY: Record<Role, string> = {
  viewer: 'reads what the team has, but for its audit log',
  member:
    'sends, and makes, changes and deletes content: emails, contacts, templates, broadcasts, automations, suppressions',
  admin:
    'reads the audit log, the prices and the invoices, and changes what the team sends and receives by: domains, API keys, webhooks, inbound rules, the settings of the team; invites, removes and gives roles to people who are no owners',
  owner: 'decides who the owners of the team are, and which plan it has where owners may',
};

/** For what an app may do with whatever it was allowed. */
export const ANY_SCOPE = 'any';

/** What the contract marks an operation with. */
export interface Requirement {
  /** The least credential that reaches it; null when neither a key nor a session does. */
  permission: Operation['x-service-permission'];
  /** The scope a grant needs, `any` where each will do; null when no grant reaches it. */
  scope: string | null;
  /** A second scope that a grant needs. */
  also?: string | undefined;
  /** The least role that a session needs; null where none is needed or no session reaches it. */
  role: Role | null;
}

/** Every door and the documentation read here who may call an operation. */
export const accessOf = (operation: Operation): Requirement => ({
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

/** Returns the scopes that a grant needs for an operation and does not have. */
export const scopesLacking = ({ scope, also }: Requirement, scopes: readonly string[]): string[] =>
  [scope, also].filter((one): one is string => typeof one === 'string' && one !== ANY_SCOPE && !scopes.includes(one));

/** For whom an operation is run: a team, a user without regard to a team, an operator, or an anonymous caller. */
export type CallerKind = 'team' | 'user' | 'operator' | 'nobody';

export function callerKindOf({ permission, scope, role }: Requirement): CallerKind {
  // The steps of OAuth between an app and this service: their own credentials are no callers of the API.
  if (permission === 'none' || (permission === null && scope === null)) return 'nobody';
  if (permission === 'operator') return 'operator';
  return permission === 'session' && role === null ? 'user' : 'team';
}

/** What of a caller decides which operations it reaches. */
type Credential =
  | { kind: 'api_key'; permission: 'full_access' | 'sending_access' }
  | { kind: 'smtp_credential' }
  /** `role` is null while the user has no team, or has chosen none. */
  | { kind: 'session'; role: Role | null }
  /** `role` is that of the person who let the app in, in the team that it acts for. */
  | { kind: 'oauth_grant'; scopes: readonly string[]; role: Role }
  | { kind: 'operator' }
  | { kind: 'job' };

/** `sends_only`, `lacks_scope`, `lacks_role` and `lacks_team`: another credential of the same kind would do. */
type Reach = 'reached' | 'sends_only' | 'lacks_scope' | 'lacks_role' | 'lacks_team' | 'other_kind';

/** Whether a caller reaches an operation. Every door asks this, and the documentation of an operation says what it answers. */
export function reachOf(credential: Credential, requirement: Requirement): Reach {
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
  // An operation of a team that names no role is reached by no session.
  if (least === null) return permission === 'session' ? 'reached' : 'other_kind';
  if (held === null) return 'lacks_team';
  return isAtLeast(held, least) ? 'reached' : 'lacks_role';
}

const isAtLeast = (held: Role, least: Role): boolean => ROLES.indexOf(held) >= ROLES.indexOf(least);

/**
 * The schemes of `components.securitySchemes` by which an operation is reached: one of them is enough. A session comes with a
 * cookie, or as the token of a program that its person has approved.
 */
export function securityOf(requirement: Requirement): Record<string, string[]>[] {
  if (requirement.permission === 'none') return [];
  const takesSession = ROLES.some((role) => reachOf({ kind: 'session', role }, requirement) === 'reached');
  return [{ bearer: [] }, ...(takesSession ? [{ session: [] }] : [])];
}

/** Who may call an operation over HTTP, as a sentence of its description; `other` is a credential of its own. */
export function describeAccess(requirement: Requirement, other = ''): string {
  const { permission, scope, also } = requirement;
  if (permission === 'none') return 'Needs no credential.';
  const reaches = (credential: Credential): boolean => reachOf(credential, requirement) === 'reached';
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
  return ways.length === 0 ? 'No credential reaches it.' : `Needs ${listOf(ways)}.`;
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

const listOf = (ways: readonly string[]): string =>
  [ways.slice(0, -1).join(', '), ...ways.slice(-1)].filter(Boolean).join(' or ');

/** What each role may do, as a table of the introduction. */
export const describeRoles = (): string =>
  ['| Role | What it may do |', '| --- | --- |', ...ROLES.map((role) => `| \`${role}\` | ${MAY[role]} |`)].join('\n');

/**
 * What an app that acts for a person may be allowed, and how the consent page says it. An operation names its scope as
 * `x-service-scope`; this is the one list of those there are.
 */
export const SCOPES = {
  'emails:send': 'Send emails from your team’s domains, and change or cancel scheduled ones',
  'emails:read': 'Read emails that were sent and received, with their content and attachments, and share links to them',
  'inbox:read': 'Read your inboxes, their threads, notes and drafts',
  'inbox:write': 'Answer from your inboxes, sort their threads, and create, change and delete inboxes',
  'templates:read': 'Read your templates',
  'templates:write': 'Create, change, publish and delete templates',
  'contacts:read': 'Read your contacts, with their properties, segments and topics, and export them',
  'contacts:write': 'Create, change, import and delete contacts, properties, segments and topics',
  'broadcasts:read': 'Read broadcasts, their recipients and reports, and your images',
  'broadcasts:write': 'Create, change, send and delete broadcasts to your contacts, and images',
  'events:read': 'Read the definitions of your custom events',
  'events:write': 'Create, change and delete the definitions of custom events',
  'events:send': 'Report events of your contacts, which start automations',
  'automations:read': 'Read automations and their runs',
  'automations:write': 'Create, change, stop and delete automations',
  'logs:read': 'Read the logs of your team’s API requests, with what was said in those that it may make itself',
  'team:read': 'Read your team’s profile, plan and sender identity',
  'team:write': 'Change your team’s sender identity and settings',
  'ai:use': 'Use the AI helpers, which cost credits and send what they are asked about to a model',
  'billing:read': 'Read your team’s plan, the prices, and its invoices',
} as const;

export type Scope = keyof typeof SCOPES;

export const SCOPE_NAMES = Object.keys(SCOPES) as Scope[];

export const isScope = (name: string): name is Scope => Object.hasOwn(SCOPES, name);

/** What an app is allowed that asks for nothing by name. */
export const READING_SCOPES = SCOPE_NAMES.filter((name) => name.endsWith(':read'));

/** The scopes as a table of the introduction. */
export const describeScopes = (): string =>
  [
    '| Scope | What it allows |',
    '| --- | --- |',
    ...SCOPE_NAMES.map((name) => `| \`${name}\` | ${SCOPES[name]} |`),
  ].join('\n');
