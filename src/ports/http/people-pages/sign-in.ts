import { Refusal } from '../../../platform/refusal.ts';
import { START_PATH, CALLBACK_PATH } from '../../../features/identity/index.ts';
import {
  attempt,
  renderLink,
  renderLinks,
  renderStatus,
  showForm,
  ownPath,
  withNext,
  renderAlert,
  renderForm,
} from './elements.ts';
import { forgetToken, keepToken, keptToken } from './mailed-link.ts';
import type { PageCtx, PeoplePage, Shown, Visit, Redirect, Fields } from './page.ts';
import { finishSignIn, startSignIn, type NotSignedIn, type SignInFault } from '../../../features/identity/start.ts';
import { bdi } from '../layout/index.ts';

/** Messages by the value of the `said` parameter, which a page sets when it redirects here. */
const MESSAGES: Readonly<Record<string, string>> = {
  'signed-out': 'You are signed out.',
  'signed-out-everywhere': 'You are signed out everywhere.',
  verified: 'Your email address is verified. Sign in with the password that you chose.',
  'password-changed': 'Your password was changed, and you were signed out everywhere. Sign in with your new password.',
  'too-late': 'Your sign-in timed out. Sign in again.',
};

export const signInPage: PeoplePage = {
  path: '/sign-in',
  async get({ session, store }, { query }) {
    const next = ownPath(query.get('next'));
    if (session) return { to: next ?? '/account' };
    return showSignIn(store.config.accounts.sign_up, { next, said: MESSAGES[query.get('said') ?? ''] });
  },
  async post(ctx, { form }) {
    const email = form.get('email') ?? '';
    const password = form.get('password') ?? '';
    const next = ownPath(form.get('next'));
    const done = await attempt(ctx.call('logIn', { body: { email, password } }));
    if (done instanceof Refusal) return showSignIn(ctx.store.config.accounts.sign_up, { next, email, fault: done });
    if (done.object === 'session') return { to: next ?? '/account' };
    keepToken(ctx, 'challenge', done.challenge_token);
    return { to: withNext('/sign-in/code', next) };
  },
};

interface State {
  next: string | undefined;
  email?: string;
  said?: string | undefined;
  fault?: Refusal;
}

const showSignIn = (signUp: string, { next, email, said, fault }: State): Shown =>
  showForm(
    'Sign in',
    {
      action: '/sign-in',
      submit: 'Sign in',
      hidden: { next },
      fields: [
        { name: 'email', label: 'Email', type: 'email', autocomplete: 'username', value: email },
        { name: 'password', label: 'Password', type: 'password', autocomplete: 'current-password' },
      ],
      fault,
    },
    {
      above: said === undefined ? '' : renderStatus(said),
      below: renderLinks(
        renderLink(withNext(START_PATH, next), 'Sign in with single sign-on'),
        renderLink('/forgot-password', 'Forgot password?'),
        signUp === 'closed' ? '' : renderLink('/sign-up', 'Create an account'),
      ),
    },
  );

/** Defines a page of the second step of signing in, for people who use two-factor authentication. */
const secondStep = (
  path: string,
  checkCode: (ctx: PageCtx, token: string, code: string) => Promise<unknown>,
  render: RenderStep,
): PeoplePage => ({
  path,
  async get(ctx, { query }) {
    const next = ownPath(query.get('next'));
    if (ctx.session) return { to: next ?? '/account' };
    if (keptToken(ctx, 'challenge') === undefined) return { to: withNext('/sign-in', next) };
    return render({ next });
  },
  async post(ctx, { form }: Visit) {
    const next = ownPath(form.get('next'));
    const token = keptToken(ctx, 'challenge');
    if (token === undefined) return { to: withNext('/sign-in?said=too-late', next) };
    const done = await attempt(checkCode(ctx, token, (form.get('code') ?? '').trim()));
    if (done instanceof Refusal) return render({ next, fault: done });
    forgetToken(ctx, 'challenge');
    return { to: next ?? '/account' };
  },
});

type RenderStep = (state: { next: string | undefined; fault?: Refusal }) => Shown;

export const codePage = secondStep(
  '/sign-in/code',
  ({ call }, challenge_token, code) => call('verifyMfa', { body: { challenge_token, code } }),
  ({ next, fault }) =>
    showForm(
      'Two-factor authentication',
      {
        action: '/sign-in/code',
        submit: 'Sign in',
        hidden: { next },
        fields: [
          {
            name: 'code',
            label: 'Code',
            autocomplete: 'one-time-code',
            inputmode: 'numeric',
            hint: 'Enter the 6-digit code from your authenticator app.',
          },
        ],
        fault,
      },
      {
        below: renderLinks(
          renderLink(withNext('/sign-in/recovery-code', next), 'Use a recovery code instead'),
          renderLink(withNext('/sign-in', next), 'Start over'),
        ),
      },
    ),
);

export const recoveryCodePage = secondStep(
  '/sign-in/recovery-code',
  ({ call }, challenge_token, recovery_code) => call('recoverMfa', { body: { challenge_token, recovery_code } }),
  ({ next, fault }) =>
    showForm(
      'Use a recovery code',
      {
        action: '/sign-in/recovery-code',
        submit: 'Sign in',
        hidden: { next },
        fields: [
          {
            name: 'code',
            label: 'Recovery code',
            autocomplete: 'off',
            inputmode: 'text',
            faultName: 'recovery_code',
            hint: 'Enter one of the recovery codes that you saved when you set up two-factor authentication. Each code works once.',
          },
        ],
        fault,
      },
      {
        below: renderLinks(
          renderLink(withNext('/sign-in/code', next), 'Use your authenticator app instead'),
          renderLink(withNext('/sign-in', next), 'Start over'),
        ),
      },
    ),
);

/** Asks for an address if none is given, and redirects to the provider of its domain. */
export const ssoStartPage: PeoplePage = {
  path: START_PATH,
  async get(ctx, { query }) {
    return query.has('email') ? startSso(ctx, query) : askForEmail(ctx, { next: ownPath(query.get('next')) });
  },
  post: (ctx, { form }) => startSso(ctx, form),
};

/**
 * Handles the redirect from a provider. It begins a session although it is a GET, but only in the browser that started
 * the sign-in.
 */
export const ssoCallbackPage: PeoplePage = {
  path: CALLBACK_PATH,
  async get(ctx, { query }) {
    const done = await finishSignIn(ctx, new URLSearchParams([...query]));
    return done.kind === 'signed_in' ? { to: ownPath(done.next) ?? '/account' } : renderSsoFault(done);
  },
};

async function startSso(ctx: PageCtx, fields: Fields): Promise<Shown | Redirect> {
  const email = fields.get('email') ?? '';
  const next = ownPath(fields.get('next'));
  const done = await startSignIn(ctx, { email, next });
  if (done.kind === 'redirect') return done;
  if (done.why !== 'bad_email' && done.why !== 'no_sso') return renderSsoFault(done);
  return askForEmail(ctx, { next, email, fault: SSO_FAULTS[done.why] });
}

interface Asked {
  next: string | undefined;
  email?: string;
  fault?: Explanation;
}

function askForEmail({ store }: PageCtx, { next, email, fault }: Asked): Shown {
  const form = renderForm({
    action: START_PATH,
    submit: 'Continue',
    hidden: { next },
    fields: [{ name: 'email', label: 'Email', type: 'email', autocomplete: 'username', value: email }],
  });
  return {
    title: 'Sign in with single sign-on',
    content: `${fault ? renderAlert(fault.says) : ''}${form}${renderLinks(renderLink(withNext('/sign-in', next), 'Sign in with a password'))}`,
    // Browsers also check where a form is redirected in the end against the policy of the page, and the provider is not
    // known yet.
    formsLeadTo: ['https:', ...(store.origin().startsWith('http:') ? ['http:'] : [])],
    ...(fault ? { status: fault.status, isFault: true } : {}),
  };
}

interface Explanation {
  status: number;
  says: string;
}

/** Explanations by fault; `{provider}` stands for the host of the provider. */
const SSO_FAULTS: Record<SignInFault, Explanation> = {
  bad_email: { status: 422, says: 'Enter a valid email address.' },
  no_sso: {
    status: 404,
    says: 'Single sign-on is not set up for addresses of this domain. Sign in with a password.',
  },
  no_attempt: {
    status: 400,
    says: 'This sign-in was started in another browser, was started more than ten minutes ago, or was replaced by a newer one. Start again.',
  },
  answered_before: { status: 400, says: 'This sign-in was already used. Start again.' },
  connection_gone: { status: 409, says: 'Your team changed its single sign-on settings in the meantime. Start again.' },
  provider_down: {
    status: 503,
    says: 'The identity provider of your team ({provider}) does not respond. Try again in a few minutes. If the problem persists, contact its administrator or an owner of your team. An owner who is exempt from single sign-on can sign in with a password and turn it off.',
  },
  provider_wrong: {
    status: 502,
    says: 'You were not signed in, because the response of your team’s identity provider ({provider}) is not valid. Start again. If the problem persists, contact its administrator or an owner of your team.',
  },
  provider_refused: { status: 403, says: 'The identity provider of your team ({provider}) refused to sign you in.' },
  no_email: {
    status: 403,
    says: 'The identity provider ({provider}) did not provide your email address. Ask its administrator to allow the scope "email" for this service.',
  },
  unverified_email: {
    status: 403,
    says: 'The identity provider ({provider}) has not verified your email address. Verify it there, or contact its administrator.',
  },
  other_domain: {
    status: 403,
    says: 'Your email address at the identity provider ({provider}) is not at a domain of your team.',
  },
  account_elsewhere: {
    status: 403,
    says: 'The email address of your account is not at a domain of this team, so its identity provider ({provider}) cannot sign you in.',
  },
  other_identity: {
    status: 403,
    says: 'Your account is linked to a different identity at the identity provider ({provider}). Ask an admin of your team to unlink that identity.',
  },
  removed: { status: 403, says: 'You are no longer a member of this team. Ask an admin of the team to invite you.' },
};

function renderSsoFault({ why, provider = '', said }: NotSignedIn): Shown {
  const { status, says } = SSO_FAULTS[why];
  const word = said === undefined ? '' : `<p class="quiet">Error from the identity provider: ${bdi(said)}</p>`;
  return {
    title: 'You are not signed in',
    content: `${renderAlert(says.replace('{provider}', provider))}${word}${renderLinks(renderLink(START_PATH, 'Start again'), renderLink('/sign-in', 'Sign in with a password'))}`,
    status,
    isFault: true,
  };
}

export const signOutPage: PeoplePage = {
  path: '/sign-out',
  async get({ session }, { query }) {
    if (!session) return { to: '/sign-in' };
    return {
      title: 'Sign out',
      content: [
        `<p>You are signed in as <strong>${bdi(session.actor.name)}</strong>.</p>`,
        renderForm({ action: '/sign-out', submit: 'Sign out', hidden: { next: ownPath(query.get('next')) } }),
        renderLinks(renderLink('/account', 'Back to your account')),
      ].join('\n'),
    };
  },
  async post({ session, call }, { form }) {
    const all = form.get('all') === 'yes';
    if (session) await call('logOut', { body: { all } });
    return { to: ownPath(form.get('next')) ?? `/sign-in?said=signed-out${all ? '-everywhere' : ''}` };
  },
};
