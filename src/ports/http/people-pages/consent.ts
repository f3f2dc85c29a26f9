import { SCOPES } from '../../../contract/index.ts';
import { Refusal } from '../../../platform/refusal/index.ts';
import { escapeHtml } from '../../../protocol/safe-html/index.ts';
import {
  answerConsent,
  askForConsent,
  readAuthorization,
  type Ask,
  type Asked,
  type Limited,
} from '../../../features/identity/oauth/index.ts';
import { bdi } from '../layout/index.ts';
import { attempt, forSignedIn, renderForm, renderLink, renderLinks, type Field } from './elements.ts';
import { daysUntil, limitFields, limitsIn, limitsInWords } from './grant-limits.ts';
import type { PageCtx, PeoplePage, Shown, SignedIn } from './page.ts';
import type { Fields } from './read-fields.ts';

const PATH = '/oauth/consent';

/** Where a person lets an app in. It is asked every time: nothing that was allowed before is taken for an answer. */
export const consentPage: PeoplePage = {
  path: PATH,
  get: forSignedIn(async (ctx, { query }) => {
    const read = await readAuthorization(ctx.store, Object.fromEntries(query));
    if (read.kind === 'unknown') return unknown(read.say);
    if (read.kind === 'refused') return { to: read.to };
    const ask = await askForConsent(consentCtx(ctx), ctx.session.teamId, read);
    return ask ? shown(ctx, read, ask) : withoutTeam();
  }),
  post: forSignedIn(async (ctx, { form }) => {
    const decision = form.get('decision');
    if (decision !== 'allow' && decision !== 'refuse') return unknown('This form has no answer in it.');
    const answer = await attempt(decide(ctx, form, decision === 'allow'));
    if (!(answer instanceof Refusal)) return { to: answer };
    // A limit that cannot be set; the question is still open on the page before.
    if (answer.errors) return limitAtFault(answer);
    throw answer;
  }),
};

async function decide(ctx: PageCtx & { session: SignedIn }, form: Fields, isAllowed: boolean): Promise<string> {
  const limits = isAllowed && limitsIn(form, ctx.store.clock.now());
  return answerConsent(consentCtx(ctx), form.get('consent') ?? '', limits);
}

const consentCtx = ({ store, browser, requestId, session }: PageCtx & { session: SignedIn }) => ({
  ...{ store, browser, requestId, actor: session.actor },
});

/** Nothing of the app is fetched or drawn: its name is a stranger's text, and its picture could be anybody's. */
function shown(
  { store, session: { actor } }: PageCtx & { session: SignedIn },
  { client, request }: Asked,
  { token, team, before }: Pick<Ask, 'token' | 'team' | 'before'>,
): Shown {
  const target = new URL(request.redirectUri);
  const place = target.host === '' ? target.protocol : target.host;
  const scopes = request.scopes.map((scope) => `<li>${escapeHtml(SCOPES[scope])} (<code>${scope}</code>)</li>`);
  const form = (submit: string, decision: string, isSecond: boolean, fields: readonly Field[] = []): string =>
    renderForm({ action: PATH, submit, isSecond, fields, hidden: { consent: token, decision }, id: decision });
  return {
    title: 'Let an app in?',
    content: [
      `<p>An app that calls itself <strong>${bdi(client.name)}</strong> asks to act for you in the team <strong>${bdi(team.name)}</strong>.</p>`,
      `<h2>It wants to</h2><ul>${scopes.join('')}</ul>`,
      request.resource === 'mcp' ? '<p>It reaches this by <code>/mcp</code> alone.</p>' : '',
      `<dl><div><dt>You are</dt><dd>${bdi(actor.name)}, ${actor.role ?? 'without a role'} of the team</dd></div>`,
      `<div><dt>It is told at</dt><dd>${bdi(place)}</dd></div></dl>`,
      '<p>This service does not know who made the app. Allow it only if you have just asked for this yourself. It never may do more than your own role allows, and you or an admin of the team can end it at any time.</p>',
      '<p class="quiet">Where the app comes twice with what works once, it is shut out and asks you again: that is how stolen access is noticed.</p>',
      before ? alreadyIn(before) : '',
      '<h2>Keep it to less</h2>',
      form('Allow', 'allow', false, limitFields(request.scopes, before, daysUntil(before, store.clock.now()))),
      form('Do not allow', 'refuse', true),
    ].join('\n'),
    formsLeadTo: [formTarget(target)],
  };
}

/** Each grant counts for itself: what an app was kept to before must not end by its asking again. */
function alreadyIn(before: Limited): string {
  const limits = limitsInWords(before).map((line) => `<li>${escapeHtml(line)}</li>`);
  const kept = limits.length === 0 ? 'It has no limits.' : `It is kept to less:</p><ul>${limits.join('')}</ul><p>`;
  return `<h2>It has access already</h2><p>${kept} The form below begins with the same. What you allow now comes beside it, and each of the two counts its emails a day by itself: ${renderLink('/account/apps', 'end the former one')} where it is not needed any more.</p>`;
}

/** As a policy of content names it, which knows no IPv6 addresses. */
function formTarget(target: URL): string {
  // Any other sign could end the directive, or stand for every host.
  const isPlain = /^https?:$/.test(target.protocol) && /^[a-z0-9._-]+$/.test(target.hostname);
  return isPlain ? target.origin : target.protocol;
}

const unknown = (say: string): Shown => ({
  title: 'This app cannot be let in',
  content: `<p>${bdi(say)}</p><p>Nothing was allowed.</p>`,
  status: 400,
  isFault: true,
});

const limitAtFault = ({ message, status }: Refusal): Shown => ({
  title: 'This limit cannot be set',
  content: `<p>${bdi(message)}</p><p>Nothing was allowed yet. Go back to the page before, and change it there.</p>`,
  status,
  isFault: true,
});

const withoutTeam = (): Shown => ({
  title: 'Choose a team first',
  content: `<p>An app acts in a team, and your session is in none. Choose one, then go back to the app and begin again.</p>${renderLinks(renderLink('/account', 'Your account'))}`,
  status: 403,
  isFault: true,
});
