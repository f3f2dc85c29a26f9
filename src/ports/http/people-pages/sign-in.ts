import { Refusal } from '../../../platform/refusal/index.ts';
import { START_PATH } from '../../../features/identity/sso/index.ts';
import { attempt, renderLink, renderLinks, renderStatus, showForm } from './elements.ts';
import { forgetToken, keepToken, keptToken } from './link-token.ts';
import { ownPath, withNext } from './own-path.ts';
import type { PageCtx, PeoplePage, Shown, Visit } from './page.ts';

/** What another page did before it led here. */
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
    const [email, password, next] = [form.get('email') ?? '', form.get('password') ?? '', ownPath(form.get('next'))];
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

/** The second step, for who has a second factor. */
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
            ...{ name: 'code', label: 'Code', autocomplete: 'one-time-code', inputmode: 'numeric' },
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
            ...{ name: 'code', label: 'Recovery code', autocomplete: 'off', inputmode: 'text' },
            ...{
              faultOf: 'recovery_code',
              hint: 'One of the ten that you kept when you set up the second factor. It works once.',
            },
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
