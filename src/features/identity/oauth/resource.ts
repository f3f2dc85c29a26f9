import { oauthRefusal } from './oauth-refusal.ts';

/** What a token is for: the whole service, or its /mcp alone. */
export type Resource = 'api' | 'mcp';

/** RFC 8707. Clients write the address with and without a slash at its end. */
export function readResource(origin: string, text: string): Resource {
  const named = text.endsWith('/') ? text.slice(0, -1) : text;
  if ([origin, `${origin}/api/v1`].includes(named)) return 'api';
  if ([`${origin}/mcp`, `${origin}/api/v1/mcp`].includes(named)) return 'mcp';
  throw oauthRefusal('invalid_target', `resource must be ${origin} or ${origin}/mcp.`);
}

/** A grant for everything also gives tokens for a part. */
export function narrowed(granted: Resource, asked: Resource | undefined): Resource {
  if (asked === undefined || asked === granted || granted === 'api') return asked ?? granted;
  throw oauthRefusal('invalid_target', 'resource must be what the person was asked for, which is /mcp alone.');
}
