import { isSimulatorDomain } from '../../platform/config/index.ts';
import { refuse } from '../../platform/refusal/index.ts';
import type { Ctx } from '../../tenancy/access/index.ts';
import type { DomainRow } from '../domains/index.ts';
import type { EmailDraft } from '../emails/index.ts';

/** A region in its sandbox sends only to the team's own verified domains and to the mailbox simulator. */
export async function mustBeAllowedBySandbox(
  { store: { config } }: Ctx,
  send: { draft: EmailDraft; domain: DomainRow; find(name: string): Promise<DomainRow | undefined> },
): Promise<void> {
  const { draft, domain, find } = send;
  if (!config.regions[domain.region]?.sandbox) return;
  for (const { address, domain: name } of draft.recipients) {
    if (isSimulatorDomain(config, name) || ((await find(name))?.verified_at ?? null) !== null) continue;
    throw refuse('validation_error', {
      status: 403,
      say: `The region ${domain.region} is sandboxed and does not send to ${address} yet.`,
      details: {
        recipient: address,
        region: domain.region,
        allowed: ['verified_identity', 'verified_domain', 'simulator'],
      },
    });
  }
}
