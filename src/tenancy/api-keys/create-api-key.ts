import type { CreateApiKeyRequest } from '../../contract/index.ts';
import { invalidFields, refuse } from '../../platform/refusal/index.ts';
import type { Ctx } from '../access/index.ts';
import { findDomain } from '../../mail/domains/index.ts';
import { issueApiKey } from './issue-api-key.ts';

export async function createApiKey(ctx: Ctx, input: CreateApiKeyRequest) {
  const permission = input.permission ?? 'full_access';
  // The letter case of a UUID means nothing (RFC 9562 §4); SQLite compares it as text.
  const domainId = input.domain_id?.toLowerCase() ?? null;
  if (domainId !== null && permission === 'full_access') {
    const message =
      'domain_id can only be given with permission sending_access; a full_access key reaches every domain.';
    throw invalidFields([{ path: 'domain_id', message }]);
  }
  return ctx.store.db.tx(async (tx) => {
    if (domainId !== null) {
      const domain = await findDomain(tx, ctx.teamId, domainId);
      if ((domain?.verified_at ?? null) === null) {
        throw refuse('validation_error', {
          status: 422,
          say: `domain_id must be the id of a verified domain of this team; got ${domainId}.`,
          errors: [{ path: 'domain_id', message: 'domain_id must be the id of a verified domain of this team.' }],
        });
      }
    }
    const issued = await issueApiKey(ctx.store, tx, { teamId: ctx.teamId, name: input.name, permission, domainId });
    return { object: 'api_key' as const, ...issued };
  });
}
