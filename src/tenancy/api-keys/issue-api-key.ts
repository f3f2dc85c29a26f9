import type { Executor } from '../../platform/db/index.ts';
import { hashToken, newToken } from '../../platform/secrets/index.ts';
import type { Store } from '../../platform/store/index.ts';
import type { Permission } from '../access/index.ts';
import { insertApiKey } from './api-keys.store.ts';

const PREFIX = 'rk_';
const SHOWN_CHARS = 10;

/** Makes a key inside the caller's transaction; the rules are the caller's. */
export async function issueApiKey(
  store: Store,
  tx: Executor,
  input: { teamId: string; name: string; permission: Permission; domainId: string | null; token?: string },
): Promise<{ id: string; token: string }> {
  const token = input.token ?? newToken(PREFIX);
  const id = store.ids.uuid();
  const row = {
    id,
    team_id: input.teamId,
    name: input.name,
    key_prefix: token.slice(0, SHOWN_CHARS),
    permission: input.permission,
    domain_id: input.domainId,
    status: 'active' as const,
    created_at: store.clock.now(),
  };
  await insertApiKey(tx, row, hashToken(token));
  return { id, token };
}
