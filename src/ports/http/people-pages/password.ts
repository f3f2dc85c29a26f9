import { Refusal } from '../../../platform/refusal.ts';
import { attempt, forSignedIn, renderLink, renderLinks, showForm } from './elements.ts';
import { forgetToken, keptToken, takeToken, deadLink, mailedPage, newPasswordField } from './mailed-link.ts';
import type { PeoplePage, Shown } from './page.ts';

export const forgotPasswordPage: PeoplePage = {
  path: '/forgot-password',
  async get(_ctx, { query }) {
    if (query.get('said') !== 'mailed') return showForgot({});
    return mailedPage(
      'If there is an account with that address, you will receive an email with a link to reset your password. The link expires after one hour.',
    );
  },
  async post({ call }, { form }) {
    const email = form.get('email') ?? '';
    const done = await attempt(call('requestPasswordReset', { body: { email } }));
    return done instanceof Refusal ? showForgot({ email, fault: done }) : { to: '/forgot-password?said=mailed' };
  },
};

const showForgot = ({ email, fault }: { email?: string; fault?: Refusal }): Shown =>
  showForm(
    'Reset your password',
    {
      action: '/forgot-password',
      submit: 'Send password reset email',
      fields: [{ name: 'email', label: 'Email', type: 'email', autocomplete: 'username', value: email }],
      fault,
    },
    { below: renderLinks(renderLink('/sign-in', 'Back to sign-in')) },
  );

export const resetPasswordPage: PeoplePage = {
  path: '/reset-password',
  async get(ctx, visit) {
    const led = takeToken(ctx, visit, 'reset', '/reset-password');
    if (led) return led;
    const token = keptToken(ctx, 'reset');
    if (token === undefined) return deadReset();
    return visit.query.get('said') === 'verified' ? showReset(token, undefined, FIRST) : showReset(token);
  },
  async post(ctx, { form }) {
    const token = form.get('token') ?? '';
    const password = form.get('password') ?? '';
    const done = await attempt(ctx.call('confirmPasswordReset', { body: { token, password } }));
    if (!(done instanceof Refusal)) {
      forgetToken(ctx, 'reset');
      return { to: '/sign-in?said=password-changed' };
    }
    const isOfToken = done.status === 404 || done.errors?.some(({ path }) => path === 'token');
    return isOfToken ? deadReset() : showReset(token, done);
  },
};

const FIRST =
  'Your email address is verified, but your account has no password yet: the password entered at sign-up is used only if you open the link in the browser in which you signed up. Choose a password now.';

const showReset = (
  token: string,
  fault?: Refusal,
  says = 'This signs you out everywhere and revokes the access of all authorized apps. Two-factor authentication is not changed.',
): Shown =>
  showForm(
    'Choose a new password',
    {
      action: '/reset-password',
      submit: 'Set new password',
      hidden: { token },
      fields: [newPasswordField],
      fault,
    },
    { above: `<p>${says}</p>` },
  );

const deadReset = (): Shown =>
  deadLink(renderLink('/forgot-password', 'Request a new link'), renderLink('/sign-in', 'Sign in'));

export const passwordPage: PeoplePage = {
  path: '/account/password',
  get: forSignedIn(async ({ call, session }) => {
    const { has_password: hasPassword } = await call('getMfa', {});
    return showChange(session.actor.name, hasPassword);
  }),
  post: forSignedIn(async ({ call, session }, { form }) => {
    const { has_password: hasPassword } = await call('getMfa', {});
    const current = hasPassword ? { current_password: form.get('current_password') ?? '' } : {};
    const done = await attempt(call('changePassword', { body: { ...current, password: form.get('password') ?? '' } }));
    if (done instanceof Refusal) return showChange(session.actor.name, hasPassword, done);
    return { to: '/account?said=password-changed' };
  }),
};

const showChange = (email: string, hasPassword: boolean, fault?: Refusal): Shown =>
  showForm(
    hasPassword ? 'Change your password' : 'Choose a password',
    {
      action: '/account/password',
      submit: hasPassword ? 'Change password' : 'Set password',
      username: email,
      fields: [
        ...(hasPassword ? [currentPasswordField('current_password', 'Current password')] : []),
        newPasswordField,
      ],
      fault,
    },
    {
      above: '<p>This signs you out of all other sessions and revokes the access of all authorized apps.</p>',
      below: renderLinks(renderLink('/account', 'Back to your account')),
    },
  );

const currentPasswordField = (name: string, label: string) =>
  ({ name, label, type: 'password', autocomplete: 'current-password' }) as const;
