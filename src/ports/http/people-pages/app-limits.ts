import type { Scope } from '../../../contract/index.ts';
import { Refusal } from '../../../platform/refusal/index.ts';
import { findOwnGrant, limitOwnGrant, readStored } from '../../../features/identity/oauth/index.ts';
import { bdi } from '../layout/index.ts';
import { afterFault, attempt, forSignedIn, renderForm, renderLink, renderLinks } from './elements.ts';
import { limitFields, limitsIn } from './grant-limits.ts';
import type { PageCtx, PeoplePage, Shown, SignedIn } from './page.ts';

const PATH = '/account/apps/limits';

/** To what the person keeps one of the apps that they have let in. */
export const appLimitsPage: PeoplePage = {
  path: PATH,
  get: forSignedIn((ctx, { query }) => showLimits(ctx, query.get('grant') ?? '')),
  post: forSignedIn(async (ctx, { form }) => {
    const { store, browser, requestId, session } = ctx;
    const id = form.get('grant_id') ?? '';
    const own = { store, browser, requestId, actor: session.actor };
    const done = await attempt((async () => limitOwnGrant(own, id, limitsIn(form, store.clock.now())))());
    if (!(done instanceof Refusal)) return { to: '/account/apps?said=limited' };
    if (done.errors) return showLimits(ctx, id, done);
    throw done;
  }),
};

async function showLimits(
  { store, session }: PageCtx & { session: SignedIn },
  id: string,
  fault?: Refusal,
): Promise<Shown> {
  const grant = await findOwnGrant({ store, actor: session.actor }, id);
  const now = { limits: readStored(grant.limits), expiresAt: grant.expires_at };
  const fields = limitFields(grant.scopes.split(' ') as Scope[], now);
  return {
    title: 'Limits of an app',
    content: [
      `<p>${bdi(grant.client_name)} is kept to these from its next call on.</p>`,
      renderForm({ action: PATH, submit: 'Set the limits', fields, hidden: { grant_id: grant.id }, fault }),
      renderLinks(renderLink('/account/apps', 'Back to your apps')),
    ].join('\n'),
    ...afterFault(fault),
  };
}
