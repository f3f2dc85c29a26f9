import { Refusal } from '../../../platform/refusal.ts';
import { firstPasswordToken, lookAtInvitation, type ShownInvitation } from '../../../features/identity/index.ts';
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
import type { PeoplePage, Shown, LedTo, PageCtx } from './page.ts';
import { bdi } from '../layout/index.ts';

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
    const email = form.get('email') ?? '';
    const password = form.get('password') ?? '';
    const name = form.get('name') ?? '';
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

/** Opening the link changes nothing, because virus scanners open it too: pressing the button does. */
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

const PATH = '/invitation';

/** The token proves that the mail arrived, so its holder may read who invites, where, and to what. */
export const invitationPage: PeoplePage = {
  path: PATH,
  async get(ctx, visit) {
    const led = takeToken(ctx, visit, 'invitation', PATH);
    return led ?? showInvitation(ctx, keptToken(ctx, 'invitation'), {});
  },
  async post(ctx, { form }) {
    const token = form.get('token') ?? '';
    if (ctx.session) return accept(ctx, token);
    const name = form.get('name') ?? '';
    const body = { token, password: form.get('password') ?? '', name: name.trim() === '' ? null : name };
    const done = await attempt(ctx.call('signUpByInvitation', { body }));
    if (done instanceof Refusal) return showInvitation(ctx, token, { name, fault: done });
    forgetToken(ctx, 'invitation');
    return { to: '/account?said=joined' };
  },
};

async function accept(ctx: PageCtx, token: string): Promise<Shown | LedTo> {
  const done = await attempt(ctx.call('acceptInvitation', { body: { token } }));
  if (done instanceof Refusal) return showInvitation(ctx, token, { fault: done });
  forgetToken(ctx, 'invitation');
  // The person who accepts wants to enter the team; one that cannot be entered just now is shown in the account.
  await attempt(ctx.call('switchTeam', { path: { team_id: done.team_id } }));
  return { to: '/account?said=joined' };
}

async function showInvitation(
  ctx: PageCtx,
  token: string | undefined,
  { name, fault }: { name?: string; fault?: Refusal },
): Promise<Shown> {
  const invitation = token === undefined ? undefined : await lookAtInvitation(ctx.store, token);
  if (token === undefined || !invitation) return deadLink(renderLink('/sign-in', 'Sign in'));
  return {
    title: `You are invited to ${invitation.team}`,
    content: `${sayWho(invitation)}\n${waysIn(ctx, { token, invitation, name, fault })}`,
    ...afterFault(fault),
  };
}

const sayWho = ({ team, role, email, inviter }: ShownInvitation): string =>
  `<p>${inviter === null ? 'Somebody who leads it' : bdi(inviter)} invites ${bdi(email)} to the team <strong>${bdi(team)}</strong>, in the role ${role}.</p>`;

interface Way {
  token: string;
  invitation: ShownInvitation;
  name: string | undefined;
  fault: Refusal | undefined;
}

function waysIn({ session, store }: PageCtx, { token, invitation, name, fault }: Way): string {
  if (session && session.actor.userId === invitation.userId) {
    return renderForm({ action: PATH, submit: 'Accept', hidden: { token }, fault });
  }
  if (session) {
    return [
      fault ? renderAlert(fault.message) : '',
      `<p>You are signed in as ${bdi(session.actor.name)}, which is another address.</p>`,
      renderForm({ action: '/sign-out', submit: 'Sign out, and go on', hidden: { next: PATH } }),
    ].join('\n');
  }
  if (invitation.userId !== null) {
    const alert = fault ? renderAlert(fault.message) : '';
    return `${alert}<p>This address has an account.</p>${renderLinks(renderLink(withNext('/sign-in', PATH), 'Sign in to accept'))}`;
  }
  if (store.config.accounts.sign_up === 'closed') {
    return '<p>This address has no account yet, and nobody makes one by themselves on this service; ask whoever runs it.</p>';
  }
  return renderForm({
    action: PATH,
    submit: 'Make my account and join',
    hidden: { token },
    username: invitation.email,
    fault,
    fields: [
      { name: 'name', label: 'Your name', autocomplete: 'name', value: name, isOptional: true },
      newPasswordField,
    ],
  });
}
