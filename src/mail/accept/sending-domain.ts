import { refuse } from '../../platform/refusal/index.ts';
import type { World } from '../../platform/world/index.ts';
import { parseHeaderMailbox } from '../../protocol/address/index.ts';
import { pinnedDomainOf, type Ctx } from '../../tenancy/access/index.ts';
import {
  findDomain,
  findDomainByName,
  listSendableDomains,
  makeSendingDomain,
  mayBeMade,
  maySend,
  type DomainRow,
} from '../domains/index.ts';
import type { EmailDraft } from '../emails/index.ts';
import { mustBeWithinRecipients } from './grant-limits.ts';
import { mustBeAllowedBySandbox } from './sandbox.ts';

/** For one request: finds the domain that a draft is sent from; refuses if it may not send this, or to its recipients. */
export type SendingDomainOf = (draft: EmailDraft) => Promise<DomainRow>;

/** Each domain is looked up once for all emails of a request. */
export function createSendingDomainOf(world: World): (ctx: Ctx) => SendingDomainOf {
  const findSendingDomain = world.db.memo(['domains'], (key) => {
    const [teamId = '', name = ''] = key.split(' ');
    return findDomainByName(world.db, teamId, name);
  });
  return (ctx) => {
    const known = new Map<string, Promise<DomainRow | undefined>>();
    const find = (name: string): Promise<DomainRow | undefined> => {
      let found = known.get(name);
      if (!found) known.set(name, (found = findSendingDomain(`${ctx.teamId} ${name}`)));
      return found;
    };
    const findSender = async (name: string): Promise<DomainRow | undefined> => {
      const found = await find(name);
      if (pinnedDomainOf(ctx.actor) !== null || !mayBeMade(world, found)) return found;
      const made = makeSendingDomain(world, ctx.teamId, { name, found });
      known.set(name, made);
      return made;
    };
    return async (draft) => {
      const domain = await mustBeSendableFrom(ctx, draft, await findSender(draft.from.domain));
      await mustBeAllowedBySandbox(ctx, { draft, domain, find });
      await mustBeWithinRecipients(ctx, draft, find);
      return domain;
    };
  };
}

/** A verified domain does not verify its subdomains: the name must be equal. */
async function mustBeSendableFrom(ctx: Ctx, draft: EmailDraft, domain: DomainRow | undefined): Promise<DomainRow> {
  const { db } = ctx.store;
  const name = draft.from.domain;
  const pinned = pinnedDomainOf(ctx.actor);
  if (pinned !== null && pinned !== domain?.id) {
    const allowed = await findDomain(db, ctx.teamId, pinned);
    throw refuse('validation_error', {
      status: 403,
      say: allowed
        ? `This API key may only send from ${allowed.name}; from is on ${name}.`
        : 'This API key is pinned to a domain that has been deleted; use another key.',
    });
  }
  if (pinned !== null) mustSpeakFor(name, draft.headers);
  if (domain && maySend(domain)) return domain;
  if (domain?.sending === 'disabled') {
    throw refuse('validation_error', {
      status: 403,
      say: `Sending from the domain ${name} is disabled; enable its capability sending first.`,
    });
  }
  // With `development.any_sender` only the domain of another team is still missing here, and it cannot be created.
  if (!domain && mayBeMade(ctx.store, domain) && ctx.actor.kind !== 'oauth_grant') {
    throw refuse('validation_error', {
      status: 403,
      say: `The domain ${name} belongs to another team of this server; send from another domain.${await sayVerifiedDomains(ctx)}`,
    });
  }
  throw refuse('validation_error', {
    status: 403,
    say: `The domain ${name} is not verified for this team; ${sayNextStep(ctx, name, domain)}.${await sayVerifiedDomains(ctx)}`,
  });
}

/** Names the command that comes next; an app that acts for a person is not told which domains the team has created. */
function sayNextStep({ actor }: Ctx, name: string, domain: DomainRow | undefined): string {
  if (actor.kind === 'oauth_grant') return 'verify it before sending from it';
  return domain
    ? `verify it before sending from it: rasket domains verify ${name}`
    : `create it, publish its DNS records and verify it before sending from it: rasket domains create ${name}`;
}

const SHOWN_DOMAINS_MAX = 5;

/** Names the domains that the team may send from instead; an app that acts for a person is told none. */
async function sayVerifiedDomains({ store, teamId, actor }: Ctx): Promise<string> {
  if (actor.kind === 'oauth_grant') return '';
  const names = await listSendableDomains(store.db, teamId, SHOWN_DOMAINS_MAX + 1);
  if (names.length === 0) return ' This team has no verified domain yet.';
  const more = names.length > SHOWN_DOMAINS_MAX ? ', …' : '';
  return ` This team may send from ${names.slice(0, SHOWN_DOMAINS_MAX).join(', ')}${more}.`;
}

/** RFC 5322 §3.6.2, §3.6.6: fields that name a sender beside From, and that mail programs show in its place. */
const SENDER_HEADERS = new Set(['sender', 'resent-from', 'resent-sender']);

/** A key that is pinned to one domain must not name a sender of another. */
function mustSpeakFor(name: string, headers: EmailDraft['headers']): void {
  for (const [field, value] of headers) {
    if (!SENDER_HEADERS.has(field.toLowerCase())) continue;
    const parsed = parseHeaderMailbox(value);
    if (parsed.ok && parsed.mailbox.domain === name) continue;
    throw refuse('validation_error', {
      status: 403,
      say: `This API key may only send from ${name}; headers.${field} must be one address of that domain.`,
    });
  }
}
