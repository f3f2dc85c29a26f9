import { expect, it } from 'vitest';
import { NO_LIMITS, type Actor } from './index.ts';
import { mustBeUnchanged } from './unchanged-draft.ts';

const createApp = (approvedDraftAt: number | null): Actor => ({
  kind: 'oauth_grant',
  grantId: 'grant',
  clientId: 'client',
  clientName: 'Newsletter Desk',
  userId: 'user',
  name: 'ada@example.org',
  scopes: [],
  role: 'owner',
  limits: NO_LIMITS,
  approvedDraftAt,
});

it('an approved call is refused when its draft was changed after a person had approved it', () => {
  expect(() => mustBeUnchanged(createApp(1000), { updated_at: 1001 }, undefined)).toThrow('changed after it was read');
  mustBeUnchanged(createApp(1000), { updated_at: 1000 }, undefined);
  mustBeUnchanged(createApp(null), { updated_at: 1001 }, undefined);
});
