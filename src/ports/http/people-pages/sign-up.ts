import { Refusal } from '../../../platform/refusal/index.ts';
import { firstPasswordToken } from '../../../features/identity/accounts/index.ts';
import { attempt, renderForm, renderLink, renderLinks, showForm } from './elements.ts';
import { forgetToken, keepToken, keptToken, takeToken } from './link-token.ts';
import type { PeoplePage, Shown } from './page.ts';
import { newPasswordField, deadLink, mailedPage } from './mailed.ts';

const toSignIn = renderLink('/sign-in', 'I have an account: sign in');

export const signUpPage: PeoplePage = {
  path: '/sign-up',
  async get({ store }, { query }) {
    const mode = store.config.accounts.sign_up;
    if (mode === 'closed') return closed();
    if (query.get('said') === 'mailed') {
      return mailedPage(
        'If an account can be made for the address that you gave, a mail with a link is on its way there. The account begins when you open the link.',
      );
    }
    return show(mode, {});
  },
  async post({ store, call }, { form }) {
    const mode = store.config.accounts.sign_up;
    if (mode === 'closed') return closed();
    const [email, password, name] = [form.get('email') ?? '', form.get('password') ?? '', form.get('name') ?? ''];
    const done = await attempt(call('signUp', { body: { email, password, name: name.trim() === '' ? null : name } }));
    return done instanceof Refusal ? show(mode, { email, name, fault: done }) : { to: '/sign-up?said=mailed' };
  },
};

const show = (mode: string, { email, name, fault }: { email?: string; name?: string; fault?: Refusal }): Shown =>
  showForm(
    'Make an account',
    {
      action: '/sign-up',
      submit: 'Make an account',
      fields: [
        { name: 'email', label: 'Email', type: 'email', autocomplete: 'username', value: email },
        { name: 'name', label: 'Name', autocomplete: 'name', value: name, isOptional: true },
        newPasswordField,
      ],
      fault,
    },
    {
      above:
        mode === 'invitation'
          ? '<p>Accounts are by invitation here: use the address to which a team has sent you one.</p>'
          : '',
      below: renderLinks(toSignIn),
    },
  );

const closed = (): Shown => ({
  title: 'No accounts are made here',
  content: `<p>Nobody makes an account by themselves on this service; ask whoever runs it.</p>${renderLinks(toSignIn)}`,
  status: 403,
});

/** Opening the link changes nothing, because programs that look for viruses open it too: pressing the button does. */
export const verifyEmailPage: PeoplePage = {
  path: '/verify-email',
  async get(ctx, visit) {
    const led = takeToken(ctx, visit, 'verify', '/verify-email');
    if (led) return led;
    const token = keptToken(ctx, 'verify');
    return token === undefined ? dead() : verifyForm(token);
  },
  async post(ctx, { form }) {
    const token = form.get('token') ?? '';
    const done = await attempt(ctx.call('verifyEmail', { body: { token } }));
    if (done instanceof Refusal) return done.status === 404 || done.status === 400 ? dead() : verifyForm(token, done);
    forgetToken(ctx, 'verify');
    const choosing = done.has_password ? undefined : await firstPasswordToken(ctx.store, token);
    if (choosing === undefined) return { to: '/sign-in?said=verified' };
    keepToken(ctx, 'reset', choosing);
    return { to: '/reset-password?said=verified' };
  },
};

const verifyForm = (token: string, fault?: Refusal): Shown => ({
  title: 'Verify your address',
  content: [
    '<p>Press the button to begin the account that was asked for with this address. If that was not you, close this page: then there is no account.</p>',
    renderForm({ action: '/verify-email', submit: 'Yes, begin my account', hidden: { token }, fault }),
    fault?.status === 409
      ? renderLinks(renderLink('/sign-in', 'Sign in'), renderLink('/forgot-password', 'Ask for a new password'))
      : '',
  ].join('\n'),
  ...(fault ? { status: fault.status, isFault: true, retryAfterSeconds: fault.retryAfterSeconds } : {}),
});

const dead = (): Shown => deadLink(renderLink('/sign-up', 'Make an account'), renderLink('/sign-in', 'Sign in'));
