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
import type { PageCtx, PeoplePage, Shown, Visit, LedTo, Fields } from './page.ts';
import { finishSignIn, startSignIn, type NotSignedIn, type SignInFault } from '../../../features/identity/start.ts';
import { bdi } from '../layout/index.ts';

/** Messages about what another page did before it led here. */
const SAID: Readonly<Record<string, string>> = {
  'signed-out': 'You are signed out.',
  'signed-out-everywhere': 'You are signed out everywhere.',
  verified: 'Your address is verified. Sign in with the password that you chose.',
  'password-changed': 'Your new password is set, and you are signed out everywhere. Sign in with it.',
  'too-late': 'The second step took too long. Sign in again.',
};

export const signInPage: PeoplePage = {
  path: '/sign-in',
  async get({ session, store }, { query }) {
    const next = ownPath(query.get('next'));
    if (session) return { to: next ?? '/account' };
    return show(store.config.accounts.sign_up, { next, said: SAID[query.get('said') ?? ''] });
  },
  async post(ctx, { form }) {
    const email = form.get('email') ?? '';
    const password = form.get('password') ?? '';
    const next = ownPath(form.get('next'));
    const done = await attempt(ctx.call('logIn', { body: { email, password } }));
    if (done instanceof Refusal) return show(ctx.store.config.accounts.sign_up, { next, email, fault: done });
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

const show = (signUp: string, { next, email, said, fault }: State): Shown =>
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
        renderLink('/forgot-password', 'I have forgotten my password'),
        signUp === 'closed' ? '' : renderLink('/sign-up', 'Make an account'),
      ),
    },
  );

/** The second step, for people who have a second factor. */
const secondStep = (
  path: string,
  ask: (ctx: PageCtx, token: string, code: string) => Promise<unknown>,
  look: Look,
): PeoplePage => ({
  path,
  async get(ctx, { query }) {
    const next = ownPath(query.get('next'));
    if (ctx.session) return { to: next ?? '/account' };
    if (keptToken(ctx, 'challenge') === undefined) return { to: withNext('/sign-in', next) };
    return look({ next });
  },
  async post(ctx, { form }: Visit) {
    const next = ownPath(form.get('next'));
    const token = keptToken(ctx, 'challenge');
    if (token === undefined) return { to: withNext('/sign-in?said=too-late', next) };
    const done = await attempt(ask(ctx, token, (form.get('code') ?? '').trim()));
    if (done instanceof Refusal) return look({ next, fault: done });
    forgetToken(ctx, 'challenge');
    return { to: next ?? '/account' };
  },
});

type Look = (state: { next: string | undefined; fault?: Refusal }) => Shown;

export const codePage = secondStep(
  '/sign-in/code',
  ({ call }, challenge_token, code) => call('verifyMfa', { body: { challenge_token, code } }),
  ({ next, fault }) =>
    showForm(
      'Your second factor',
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
            hint: 'The six digits that your authenticator app shows for this service.',
          },
        ],
        fault,
      },
      {
        below: renderLinks(
          renderLink(withNext('/sign-in/recovery-code', next), 'Use a recovery code instead'),
          renderLink(withNext('/sign-in', next), 'Begin again'),
        ),
      },
    ),
);

export const recoveryCodePage = secondStep(
  '/sign-in/recovery-code',
  ({ call }, challenge_token, recovery_code) => call('recoverMfa', { body: { challenge_token, recovery_code } }),
  ({ next, fault }) =>
    showForm(
      'A recovery code',
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
            faultOf: 'recovery_code',
            hint: 'One of the ten that you kept when you set up the second factor. It works once.',
          },
        ],
        fault,
      },
      {
        below: renderLinks(
          renderLink(withNext('/sign-in/code', next), 'Use the app instead'),
          renderLink(withNext('/sign-in', next), 'Begin again'),
        ),
      },
    ),
);

/** Asks for an address if none is given, and redirects to the provider of its domain. */
export const ssoStartPage: PeoplePage = {
  path: START_PATH,
  async get(ctx, { query }) {
    return query.has('email') ? begin(ctx, query) : askForEmail(ctx, { next: ownPath(query.get('next')) });
  },
  post: (ctx, { form }) => begin(ctx, form),
};

/**
 * The page to which a provider redirects. It begins a session, although it is a GET: only for the browser that asked
 * for it.
 */
export const ssoCallbackPage: PeoplePage = {
  path: CALLBACK_PATH,
  async get(ctx, { query }) {
    const done = await finishSignIn(ctx, new URLSearchParams([...query]));
    return done.kind === 'signed_in' ? { to: ownPath(done.next) ?? '/account' } : explain(done);
  },
};

async function begin(ctx: PageCtx, fields: Fields): Promise<Shown | LedTo> {
  const email = fields.get('email') ?? '';
  const next = ownPath(fields.get('next'));
  const done = await startSignIn(ctx, { email, next });
  if (done.kind === 'led') return done;
  if (done.why !== 'bad_email' && done.why !== 'no_sso') return explain(done);
  return askForEmail(ctx, { next, email, fault: SSO_SAID[done.why] });
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
    // Browsers also check the final address of a form's redirects against the policy of the page, and that one is not
    // known yet.
    formsLeadTo: ['https:', ...(store.origin().startsWith('http:') ? ['http:'] : [])],
    ...(fault ? { status: fault.status, isFault: true } : {}),
  };
}

interface Explanation {
  status: number;
  says: string;
}

/** `{provider}` stands for the host of the provider. */
const SSO_SAID: Record<SignInFault, Explanation> = {
  bad_email: { status: 422, says: 'This is no email address.' },
  no_sso: {
    status: 404,
    says: 'Addresses of this domain do not sign in with single sign-on here. Sign in with a password.',
  },
  no_attempt: {
    status: 400,
    says: 'This sign-in was begun in another browser, or more than ten minutes ago, or another one was begun after it. Start again.',
  },
  answered_before: { status: 400, says: 'This sign-in has been used already. Start again.' },
  connection_gone: { status: 409, says: 'Your team has changed its single sign-on meanwhile. Start again.' },
  provider_down: {
    status: 503,
    says: 'The identity provider of your team ({provider}) does not answer. Try again in a few minutes. If it stays so, ask those who run it, or an owner of your team: an owner who is exempt from single sign-on signs in with a password and can switch it off.',
  },
  provider_wrong: {
    status: 502,
    says: 'The identity provider of your team ({provider}) answered something that cannot be trusted, so that you are not signed in. Start again; if it stays so, ask those who run it, or an owner of your team.',
  },
  provider_refused: { status: 403, says: 'The identity provider of your team ({provider}) did not sign you in.' },
  no_email: {
    status: 403,
    says: 'The identity provider ({provider}) did not tell your email address. Ask those who run it to tell this service the scope "email".',
  },
  unverified_email: {
    status: 403,
    says: 'The identity provider ({provider}) has not verified your email address. Verify it there, or ask those who run it.',
  },
  other_domain: {
    status: 403,
    says: 'The identity provider ({provider}) knows you by an address that is not of a domain of your team.',
  },
  account_elsewhere: {
    status: 403,
    says: 'Your account here has an address that is not of a domain of this team, so that its provider ({provider}) cannot sign you in.',
  },
  other_identity: {
    status: 403,
    says: 'The identity provider ({provider}) knew the person with this address as somebody else. Ask an admin of your team to unlink the former identity.',
  },
  removed: { status: 403, says: 'You are not in this team any more. Ask an admin of the team to invite you.' },
};

function explain({ why, provider = '', said }: NotSignedIn): Shown {
  const { status, says } = SSO_SAID[why];
  const word = said === undefined ? '' : `<p class="quiet">It said: ${bdi(said)}</p>`;
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
