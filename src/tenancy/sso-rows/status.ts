import type { ConnectionRow } from './sso.store.ts';

export type SsoStatus = 'no_domain' | 'untested' | 'active';

/** Returns what a connection lacks before people can rely on it. */
export function deriveSsoStatus({ tested_at: testedAt }: ConnectionRow, provenDomains: number): SsoStatus {
  if (provenDomains === 0) return 'no_domain';
  return testedAt === null ? 'untested' : 'active';
}
