import { Refusal } from '../../../platform/refusal.ts';
import { firstPasswordToken, loadShownInvitation, type ShownInvitation } from '../../../features/identity/index.ts';
import {
  attempt,
  renderForm,
  renderLink,
  renderLinks,
  showForm,
  afterFault,
  renderAlert,
  withNext,
} from './elements.ts';
import { forgetToken, keepToken, keptToken, takeToken, newPasswordField, deadLink, mailedPage } from './mailed-link.ts';
import type { PeoplePage, Shown, Redirect, PageCtx } from './page.ts';
import { bdi } from '../layout/index.ts';

const signInLink = renderLink('/sign-in', 'Already have an account? Sign in');

export const signUpPage: PeoplePage = {
  path: '/sign-up',
  async get({ store }, { query }) {
    const mode = store.config.accounts.sign_up;
    if (mode === 'closed') return renderClosed();
    if (query.get('said') === 'mailed') {
      return mailedPage(
        'If an account can be created for that address, you will receive an email with a link. Open the link to finish creating your account.',
      );
    }
    return showSignUp(mode, {});
  },
  async post({ store, call }, { form }) {
    const mode = store.config.accounts.sign_up;
    if (mode === 'closed') return renderClosed();
    const email = form.get('email') ?? '';
    const password = form.get('password') ?? '';
    const name = form.get('name') ?? '';
    const done = await attempt(call('signUp', { body: { email, password, name: name.trim() === '' ? null : name } }));
    return done instanceof Refusal ? showSignUp(mode, { email, name, fault: done }) : { to: '/sign-up?said=mailed' };
  },
};

const showSignUp = (mode: string, { email, name, fault }: { email?: string; name?: string; fault?: Refusal }): Shown =>
  showForm(
    'Create your account',
    {
      action: '/sign-up',
      submit: 'Create account',
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
          ? '<p>You need an invitation to create an account. Enter the email address that your invitation was sent to.</p>'
          : '',
      below: renderLinks(signInLink),
    },
  );

const renderClosed = (): Shown => ({
  title: 'Sign-up is closed',
  content: `<p>You cannot create an account on this service yourself. Contact its operator.</p>${renderLinks(signInLink)}`,
  status: 403,
});

/** Verifies an address when the person presses the button. Opening the link alone changes nothing: virus scanners do it too. */
export const verifyEmailPage: PeoplePage = {
  path: '/verify-email',
  async get(ctx, visit) {
    const led = takeToken(ctx, visit, 'verify', '/verify-email');
    if (led) return led;
    const token = keptToken(ctx, 'verify');
    return token === undefined ? renderDeadLink() : verifyForm(token);
  },
  async post(ctx, { form }) {
    const token = form.get('token') ?? '';
    const done = await attempt(ctx.call('verifyEmail', { body: { token } }));
    if (done instanceof Refusal)
      return done.status === 404 || done.status === 400 ? renderDeadLink() : verifyForm(token, done);
    forgetToken(ctx, 'verify');
    const choosing = done.has_password ? undefined : await firstPasswordToken(ctx.store, token);
    if (choosing === undefined) return { to: '/sign-in?said=verified' };
    keepToken(ctx, 'reset', choosing);
    return { to: '/reset-password?said=verified' };
  },
};

const verifyForm = (token: string, fault?: Refusal): Shown => ({
  title: 'Verify your email address',
  content: [
    '<p>Somebody requested an account with this email address. If it was you, verify the address to create the account. If not, close this page; no account will be created.</p>',
    renderForm({ action: '/verify-email', submit: 'Verify and create account', hidden: { token }, fault }),
    fault?.status === 409
      ? renderLinks(renderLink('/sign-in', 'Sign in'), renderLink('/forgot-password', 'Reset your password'))
      : '',
  ].join('\n'),
  ...(fault ? { status: fault.status, isFault: true, retryAfterSeconds: fault.retryAfterSeconds } : {}),
});

const renderDeadLink = (): Shown =>
  deadLink(renderLink('/sign-up', 'Create an account'), renderLink('/sign-in', 'Sign in'));

const PATH = '/invitation';

/** Shows an invitation. The token proves that its holder received the mail, so they may see the team, role and inviter. */
export const invitationPage: PeoplePage = {
  path: PATH,
  async get(ctx, visit) {
    const led = takeToken(ctx, visit, 'invitation', PATH);
    return led ?? showInvitation(ctx, keptToken(ctx, 'invitation'), {});
  },
  async post(ctx, { form }) {
    const token = form.get('token') ?? '';
    if (ctx.session) return acceptAndSwitch(ctx, token);
    const name = form.get('name') ?? '';
    const body = { token, password: form.get('password') ?? '', name: name.trim() === '' ? null : name };
    const done = await attempt(ctx.call('signUpByInvitation', { body }));
    if (done instanceof Refusal) return showInvitation(ctx, token, { name, fault: done });
    forgetToken(ctx, 'invitation');
    return { to: '/account?said=joined' };
  },
};

async function acceptAndSwitch(ctx: PageCtx, token: string): Promise<Shown | Redirect> {
  const done = await attempt(ctx.call('acceptInvitation', { body: { token } }));
  if (done instanceof Refusal) return showInvitation(ctx, token, { fault: done });
  forgetToken(ctx, 'invitation');
  // Switches to the new team. If that fails, the account page lists the team all the same.
  await attempt(ctx.call('switchTeam', { path: { team_id: done.team_id } }));
  return { to: '/account?said=joined' };
}

async function showInvitation(
  ctx: PageCtx,
  token: string | undefined,
  { name, fault }: { name?: string; fault?: Refusal },
): Promise<Shown> {
  const invitation = token === undefined ? undefined : await loadShownInvitation(ctx.store, token);
  if (token === undefined || !invitation) return deadLink(renderLink('/sign-in', 'Sign in'));
  return {
    title: `You are invited to ${invitation.team}`,
    content: `${renderInvitation(invitation)}\n${renderWaysIn(ctx, { token, invitation, name, fault })}`,
    ...afterFault(fault),
  };
}

const renderInvitation = ({ team, role, email, inviter }: ShownInvitation): string =>
  `<p>${inviter === null ? `${bdi(email)} was invited` : `${bdi(inviter)} invited ${bdi(email)}`} to join the team <strong>${bdi(team)}</strong> with the role ${role}.</p>`;

interface Way {
  token: string;
  invitation: ShownInvitation;
  name: string | undefined;
  fault: Refusal | undefined;
}

function renderWaysIn({ session, store }: PageCtx, { token, invitation, name, fault }: Way): string {
  if (session && session.actor.userId === invitation.userId) {
    return renderForm({ action: PATH, submit: 'Accept invitation', hidden: { token }, fault });
  }
  if (session) {
    return [
      fault ? renderAlert(fault.message) : '',
      `<p>You are signed in as ${bdi(session.actor.name)}, but this invitation is for a different address.</p>`,
      renderForm({ action: '/sign-out', submit: 'Sign out and continue', hidden: { next: PATH } }),
    ].join('\n');
  }
  if (invitation.userId !== null) {
    const alert = fault ? renderAlert(fault.message) : '';
    return `${alert}<p>There is already an account with this address.</p>${renderLinks(renderLink(withNext('/sign-in', PATH), 'Sign in to accept'))}`;
  }
  if (store.config.accounts.sign_up === 'closed') {
    return '<p>There is no account with this address yet, and you cannot create one on this service yourself. Contact its operator.</p>';
  }
  return renderForm({
    action: PATH,
    submit: 'Create account and join',
    hidden: { token },
    username: invitation.email,
    fault,
    fields: [
      { name: 'name', label: 'Your name', autocomplete: 'name', value: name, isOptional: true },
      newPasswordField,
    ],
  });
}
