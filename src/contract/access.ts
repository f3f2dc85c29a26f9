import type { Operation } from './document.ts';

/** What the contract marks an operation with. */
export interface Requirement {
  /** The least credential that reaches it; null when neither a key nor a session does. */
  permission: Operation['x-service-permission'];
  /** The scope a grant needs; null when no grant reaches it. */
  scope: string | null;
}

/** What of a caller decides which operations it reaches. */
export type Credential =
  | { kind: 'api_key'; permission: 'full_access' | 'sending_access' }
  | { kind: 'smtp_credential' }
  | { kind: 'session' }
  | { kind: 'oauth_grant'; scopes: readonly string[] }
  | { kind: 'operator' }
  | { kind: 'job' };

/** `sends_only` and `lacks_scope`: another credential of the same kind would do. */
export type Reach = 'reached' | 'sends_only' | 'lacks_scope' | 'other_kind';

/** Whether a caller reaches an operation. Every door asks this, and the documentation of an operation says what it answers. */
export function reachOf(credential: Credential, { permission, scope }: Requirement): Reach {
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
      return permission === null || permission === 'operator' ? 'other_kind' : 'reached';
    case 'oauth_grant':
      if (scope === null) return 'other_kind';
      return credential.scopes.includes(scope) ? 'reached' : 'lacks_scope';
  }
}

/** Who may call an operation over HTTP, as a sentence of its description. */
export function describeAccess(requirement: Requirement): string {
  const { permission, scope } = requirement;
  if (permission === 'none') return 'Needs no credential.';
  const reaches = (credential: Credential): boolean => reachOf(credential, requirement) === 'reached';
  const key = (['sending_access', 'full_access'] as const).find((least) =>
    reaches({ kind: 'api_key', permission: least }),
  );
  const ways = [
    key === undefined ? '' : `an API key with \`${key}\``,
    reaches({ kind: 'session' }) ? 'a dashboard session' : '',
    scope !== null && reaches({ kind: 'oauth_grant', scopes: [scope] }) ? `an access token with \`${scope}\`` : '',
    reaches({ kind: 'operator' }) ? 'the token of an operator' : '',
  ].filter(Boolean);
  return ways.length === 0 ? 'No credential reaches it.' : `Needs ${listOf(ways)}.`;
}

const listOf = (ways: readonly string[]): string =>
  [ways.slice(0, -1).join(', '), ...ways.slice(-1)].filter(Boolean).join(' or ');
